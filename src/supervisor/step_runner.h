// Runs steps, each under a supervisor that outlives the caller. The simulator and the benchmarks replace this
// interface.
//
// A step is named by its sandbox_run_id, which is stored in the marker. At most one supervisor ever runs a
// given id: start() after abandon() of the same id has no effect.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/server.h"
#include "base/error.h"
#include "sandbox/spec.h"
#include "secrets/redact.h"

namespace pawl::supervisor {

enum class Found {
  kRunning,  // its supervisor is alive: call wait()
  kSpooled,  // it ended and its result is on disk: call collect()
  kNothing,  // no supervisor, no result: the result is lost, or the step never began
};

struct ContextFile {
  std::string path;  // relative, without ..
  std::string bytes;
};

// An agent's step has this, and no step of a gate or a hook.
struct AgentStep {
  agent::Context context;  // the content of the agent's API, at a socket beside the context files
  // Variables of the command alone, without NUL characters. No file has them, and no other process than the
  // supervisor and the sandbox. Work that has such a value is not stored.
  secrets::Redactor::Values credentials = {};
  // True: HOME is empty at first, even when a process that died had handed a HOME on. The step's supervisor removes
  // it, because an executor without its lease could remove the HOME of an agent at work.
  bool fresh_home = false;
};

struct Salvage {
  bool began = true;                      // false: there is no sign that the step began, and no probe ran
  std::optional<std::int64_t> exit_code;  // the probe's; nullopt when it had no result
  sandbox::SandboxRun run;                // valid with exit code 0
};

// The work that an execution of an agent left for the next execution, besides HOME.
struct KeptWork {
  bool began = true;                 // false: there is no sign that the step began
  std::optional<std::string> layer;  // all its changes; "" without a change; nullopt when they can't be kept
  // Without a layer: the missing part. `restart`: the machine restarted since, so that unwritten data may be lost.
  // `workspace`, `home`: this folder is gone, or was never written. `credentials`: the step had other values, for
  // which its work can't be searched any more. `session`: the program may have none (may_lack_session() in
  // executor/recovery.h).
  std::string missing;
};

// An execution of an agent whose program prints its use.
struct PrintedUsage {
  std::string sandbox_run_id;
  agent::EpisodeKey key;
  std::string reader, model;  // agent/usage_reader.h
  bool same_boot = false;     // it was started since the machine's last start
};

// Gives steps up, and keeps or removes what they left. Starts none.
class StepEnder {  // thread-safe
 public:
  virtual ~StepEnder() = default;
  // Guarantees that this id never runs again: kills a living supervisor, forbids a late one, and removes what
  // the step left in the kernel. Durable when it returns.
  virtual Status abandon(const std::string& sandbox_run_id) = 0;
  // Stores the work of an agent's abandoned step as a layer. Its changes count as changes of the step's next execution.
  // Until forget_lost(), another call returns the same result. `credentials`: as for salvage().
  // REQUIRES: abandon() of the id, and the caller holds the objects until a row or a spool names the layer.
  virtual Result<KeptWork> keep_work(const std::string& sandbox_run_id,
                                     const secrets::Redactor::Values& credentials) = 0;
  // Reports to the journal of an agent's abandoned step what its output tells of its use, and that the rest is
  // unknown. Makes no report when its supervisor has done so and stored the output, or when the step never began.
  // Idempotent. REQUIRES: abandon() of the id.
  virtual Status report_usage(const PrintedUsage& of) = 0;
  // Removes the spool and the work folder of a step whose end is recorded. Not durable, idempotent.
  virtual void forget(const std::string& sandbox_run_id) = 0;
  // The same for a step without a result, but its output, trace and network log stay: users
  // look there for the cause.
  virtual void forget_lost(const std::string& sandbox_run_id) = 0;
  // Returns the reason why the next execution of an episode's agent can't have HOME of the executions before; "": it can.
  // "home": there is no HOME. "credentials": they had other values than `credentials`, and HOME may contain the old
  // values, for which no text can be redacted any more.
  virtual Result<std::string> home_lacks(const agent::EpisodeKey& key, const std::string& attempt_id,
                                         const secrets::Redactor::Values& credentials) = 0;
  // Gives HOME of an ended attempt's agent to the next attempt's agent, whole or not at all. Returns "" when it did,
  // otherwise the missing part. "home": there is no HOME. "restart": the machine restarted since an agent used HOME, which
  // is not synced. "credentials": agents had other values than `credentials`,
  // and HOME may contain the old values. A second call returns the same. Durable when it returns. REQUIRES: each
  // attempt has one episode, whose id is the attempt's id, and no agent of the next attempt began.
  virtual Result<std::string> hand_home_on(const std::string& run_id, const std::string& from_attempt_id,
                                           const std::string& to_attempt_id,
                                           const secrets::Redactor::Values& credentials) = 0;
  // Removes HOME of each agent of an attempt that has ended. Not durable, idempotent.
  virtual void forget_homes(const std::string& run_id, const std::string& attempt_id) = 0;
};

// The same, and runs steps. Two users have this type: the code that writes a step's marker, and a gate that is run
// again, which has no row.
class StepRunner : public StepEnder {  // thread-safe
 public:
  // Starts the supervisor and returns. `backend`: a name for sandbox::make_backend. `context`: the files that a
  // copy_in without a src shows; its content hash binds them. `agent`: no value for a step of a gate or a hook.
  // The hash does not bind it, because the amount that a run may spend and the credentials change. An agent
  // finds HOME as the execution before left it, or empty in a new episode. REQUIRES: the marker of
  // `sandbox_run_id` is durable.
  virtual Status start(const std::string& sandbox_run_id, const std::string& backend,
                       const sandbox::SandboxSpec& spec, const std::vector<ContextFile>& context,
                       const std::optional<AgentStep>& agent) = 0;
  // As find_step() (supervisor.h).
  virtual Result<Found> find(const std::string& sandbox_run_id) = 0;
  // Blocks until the supervisor has ended, or until `stop` (called a few times a second) returns true. After `stop`
  // the result is kCancelled and the step continues. kExhausted, kIndeterminate: the supervisor itself failed (for
  // example, a full disk) and the result is lost.
  virtual Status wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) = 0;
  // Returns the spooled result. kNotFound: there is no result. kCorrupt: it does not parse, or has another spec hash.
  virtual Result<sandbox::SandboxRun> collect(const std::string& sandbox_run_id,
                                              const std::string& spec_hash) = 0;
  // Runs `probe`, a command that decides whether the effect of an abandoned step happened. The probe sees the
  // workspace as the step left it (probe.h), the step's environment without credentials, and its copied-in
  // files. With exit code 0, `run` replaces the lost result and contains the step's layer. `credentials`: the
  // step's credentials with their present values. When the step had another value, no probe runs, because the work
  // cannot be searched for the old value. REQUIRES: abandon() of the id.
  virtual Result<Salvage> salvage(const std::string& sandbox_run_id, const std::vector<std::string>& probe,
                                  const secrets::Redactor::Values& credentials) = 0;
};

}  // namespace pawl::supervisor
