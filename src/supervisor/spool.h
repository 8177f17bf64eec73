// The files of one step's folder, and the lock that says which process may use them. A detail of this room.
//
// The lock decides: only its holder may run the step or give it up. A supervisor waits for the lock, so that
// a process that only reads the step cannot make it give up.
//
// Job and result have a seal (base/seal.h) under the key of the step. The executor derives that key again
// after a crash. A supervisor gets it through a pipe, and no file has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/seal.h"
#include "os/file.h"
#include "os/process.h"
#include "sandbox/spec.h"
#include "supervisor/step_runner.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {

// For job.json and result.json: a spec or a run, never output.
constexpr std::uint64_t kSpoolFileBytesMax = 16 << 20;

// Names of files in a spool.
constexpr std::string_view kIdentityFile = "supervisor", kJobFile = "job.json", kResultFile = "result.json";

constexpr int kExitExhausted = 3;  // exit code of a supervisor: the disk is full

struct Job {
  std::string sandbox_run_id, backend;
  sandbox::SandboxSpec spec;
  std::optional<agent::Context> agent;  // for its socket; no value: no socket
  std::vector<std::string> hidden;      // paths of the host, beside .pawl
  // Spool::seals_of() the agent's credentials: a recovery sees whether they are the same. No file has a value.
  std::map<std::string, std::string> credentials = {};
  bool fresh_home = false;                   // AgentStep::fresh_home
  std::vector<std::string> home_seals = {};  // Homes::seals_of() the same values, for make_home()
};

struct SpooledResult {
  std::string spec_hash;
  sandbox::SandboxRun run;
};

// Thread-safe: an object never changes, and each write replaces its whole file at once.
class Spool {
 public:
  // REQUIRES: `key` is the key of this step (Seal::key_of_part), with kHashKeySize bytes.
  Spool(std::string folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}

  const std::string& folder() const { return folder_; }
  const std::string& key() const { return key_; }
  std::string pawl_folder() const;  // .pawl
  std::string id() const;           // the sandbox_run_id: the folder's name
  std::string work_folder() const;  // where its workspace is while it runs
  std::string path(std::string_view name) const { return os::join(folder_, name); }
  // A keyed hash of each value, by name.
  std::map<std::string, std::string> seals_of(const secrets::Redactor::Values& credentials) const;

  // Atomic, not durable.
  Status write_job(const Job& job) const;
  Result<Job> read_job() const;  // kNotFound: there is none. kForged: it does not have the step's seal

  // Atomic, not durable.
  Status write_identity(const os::ProcessIdentity& identity) const;
  std::optional<os::ProcessIdentity> identity() const;  // the supervisor that began; empty before

  // Durable when it returns.
  Status write_result(const std::string& spec_hash, const sandbox::SandboxRun& run) const;
  bool has_result() const { return os::exists(path(kResultFile)); }
  // kNotFound: there is no result. kForged: it does not have the step's seal. kCorrupt: it does not parse, or has
  // another spec hash.
  Result<sandbox::SandboxRun> read_result(const std::string& spec_hash) const;
  Result<SpooledResult> read_result_of_any_spec() const;  // errors likewise

  // Durable when it returns. REQUIRES: the caller holds the lock.
  Status write_abandoned() const;
  bool abandoned() const { return os::exists(path("abandoned")); }

 private:
  std::string folder_, key_;
};

// Ids of the objects that the job and the result in a spool name, as far as these files exist. Seals are not
// checked: an id too many only keeps an object.
Result<std::vector<std::string>> objects_named_in(const std::string& spool_folder);

// The folders that a step's workspace is built from, topmost first, without its .git.
std::vector<std::string> lower_folders(const sandbox::WorkspaceSpec& spec,
                                       const workspace::Workspaces& workspaces);
// The folders that its .git is built from, topmost first.
std::vector<std::string> git_folders(const sandbox::WorkspaceSpec& spec,
                                     const workspace::Workspaces& workspaces);

// Paths that the step does not see, wherever they lie: the state folder, the folder that contains it, and the
// sources.
std::vector<std::string> hidden_folders(const Spool& spool, const Job& job);

// HOME of the agent of a step.
std::string home_of(const std::string& pawl_folder, const agent::Context& agent);

// StepEnder::keep_work. REQUIRES: the step is abandoned.
Result<KeptWork> keep_work(const Spool& spool, const secrets::Redactor::Values& credentials);

// StepEnder::report_usage. REQUIRES: the step is abandoned.
Status report_usage(const Spool& spool, const PrintedUsage& of);

// StepRunner::salvage. REQUIRES: the step is abandoned.
Result<Salvage> salvage(const Spool& spool, const std::vector<std::string>& probe,
                        const secrets::Redactor::Values& credentials);

}  // namespace pawl::supervisor
