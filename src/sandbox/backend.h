// The interface of a backend: one way to make sandboxes. Steps (supervisor/step_runner.h) and probes (probe.h) run
// in them. registry.cc lists the backends by name, and other rooms take the names from it. Only the room plan
// has its own words for them (plan/sections.cc), because it can't include this room. docs/extending.md lists the
// files that a new backend changes.
//
// A sandbox belongs to the process that called execute(). When that process dies, the backend's own mechanism ends
// the sandbox. When the backend has no such mechanism, end() ends it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sandbox/outlet.h"
#include "sandbox/spec.h"

namespace pawl::sandbox {

// The folders of the host that a sandbox uses. Changes of the workspace are stored only in `upper`; the trees of
// `lower` stay as they are.
struct Folders {
  std::vector<std::string> lower;  // trees, topmost first, the base last; may be empty
  // Exists and is empty. Changes are stored here, in the form that Execution::changes says. Empty path: the
  // workspace is read-only.
  std::string upper;
  std::string work;  // exists, empty, same file system as upper
  // Exists and is empty. Stores three things: /var/tmp, for large temporary files; HOME, when `home` is empty; and
  // the private copies of copy_in rw. Empty path: /var/tmp is /tmp, such a HOME is in memory, and no private copy
  // can be made.
  std::string scratch;
  // Exists, and becomes HOME, with all files that earlier sandboxes left there. These files count against the disk
  // limit. The sandbox's user becomes the owner of the folder. A copy_in below HOME is refused, because a link that
  // an earlier sandbox left could lead its mount elsewhere. Empty path: HOME begins empty, and is not stored.
  std::string home;
  // True: /workspace has no lower tree, lies in the sandbox's memory as /tmp does, and is not stored.
  bool in_memory = false;
  // Paths of the host, with links resolved, that stay hidden in the trees that the sandbox shows: the host's base
  // (a source in /usr/src may lie there) and `lower`. The HOME of this process is always hidden.
  std::vector<std::string> hidden;
};

enum class Stream { kStdout, kStderr };

// Callbacks and descriptors of a running sandbox.
struct Events {
  // Called with each chunk of output, at most output_limit_bytes in total. Required.
  std::function<void(Stream, std::string_view)> on_output;
  // Called a few times a second; true ends the sandbox (outcome kSignaled, SIGKILL, reason "cancelled").
  // Optional.
  std::function<bool()> should_stop;
  // Makes the outlet, the only way to the network. Required with network scoped.
  OpenOutlet open_outlet;
  // Lines of the trace (docs/security.md, "The trace of a step"), without newlines. Required with enable_trace.
  std::function<void(std::string_view)> on_trace;
  // Replaces the secrets in an argument of the trace, before the argument is cut. Optional.
  std::function<std::string(std::string_view)> redact;
  // The command's standard input gets the bytes of this descriptor, up to their end; -1: the input is empty. The
  // backend may read more bytes from the descriptor than the command reads. REQUIRES: not a terminal, not a folder.
  int input = -1;
  // Descriptors that stay open until every process of the sandbox is dead, such as a lock that marks the step
  // as running. All other descriptors of this process are closed in the sandbox. Optional.
  std::vector<int> held;
};

// Why a sandbox could not be made. Callers decide by the fields and never by the message.
struct Fault {
  std::string mechanism;  // the Mechanism::name that failed; empty: no isolation mechanism did
  Error error;            // `sys_errno`: errno of the failed call; `message`: for people

  // Implicit, so that PAWL_TRY and PAWL_OK pass an error of another room on.
  Fault(Error why, std::string_view of = {}) : mechanism(of), error(std::move(why)) {}
};

// The form in which the changes of a sandbox lie in Folders::upper.
enum class Changes {
  kOverlay,    // as overlayfs stores them: c 0:0 whiteouts, user.overlay.opaque
  kWholeTree,  // the whole tree; its differences from Folders::lower are the change
};
// True: the changes are a whole tree. A caller that collects changes asks this function how to read them. It is a
// switch, so that the compiler stops here when Changes gets a new form, such as an archive from another machine.
constexpr bool is_whole_tree(Changes changes) {
  switch (changes) {
    case Changes::kOverlay:
      return false;
    case Changes::kWholeTree:
      return true;
  }
  return false;
}

struct Execution {
  SandboxRun run;              // without logs, layer and copy_out, which the caller fills in
  std::optional<Fault> fault;  // set for kSetupFailed; run.reason is its message
  Changes changes = Changes::kOverlay;
};

enum class MechanismStatus { kWorks, kDegraded, kMissing };
constexpr std::string_view name(MechanismStatus status) {
  switch (status) {
    case MechanismStatus::kWorks:
      return "works";
    case MechanismStatus::kDegraded:
      return "degraded";
    case MechanismStatus::kMissing:
      return "missing";
  }
  return "";
}

// The state of one isolation mechanism or limit, for `pawl sandbox health`.
struct Mechanism {
  std::string name;  // "namespaces", "overlay", "memory", ...
  MechanismStatus status = MechanismStatus::kMissing;
  std::string detail;  // the replacement in use, or the remedy: a package or a setting
};

struct Health {
  std::string backend;
  std::string gate_isolation_class;
  bool usable = false;  // a step can be run safely
  std::vector<Mechanism> mechanisms;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // The isolation class: the part of the host that sandboxes share, in the word of cost rows and attestations.
  virtual std::string gate_isolation_class() const = 0;
  // Whether this machine can make the sandbox of `spec`. Makes a trial sandbox with the same mechanisms, which
  // takes milliseconds. The trial has no workspace and no network, and runs another command. With enable_trace,
  // checks that the trace shows this command. Thread-safe. kDenied names the obstacle.
  virtual Status check(const SandboxSpec& spec) = 0;
  // Blocks until every process of the sandbox has ended and every resource of the sandbox outside of `folders` is
  // removed. REQUIRES: validate(spec) holds. Never fails because of the command. A sandbox that could not be made has
  // the outcome kSetupFailed, with the mechanism in `reason`. Thread-safe with a read-only workspace and no network;
  // otherwise one call at a time.
  virtual Execution execute(const SandboxSpec& spec, const Folders& folders, const Events& events,
                            const std::string& sandbox_run_id) = 0;
  // Makes real sandboxes, tries attacks and limits in them, and reports which mechanisms work.
  virtual Health health(const ClosedOutlets& outlets) = 0;
  // The mechanisms that are in degraded mode in every sandbox of this machine, with their replacements. Makes no
  // sandbox.
  virtual std::vector<Mechanism> degraded() = 0;
  // The form of the changes that a sandbox left in `folders.upper`, when its maker died before execute() returned.
  virtual Changes changes_left(const Folders& folders) = 0;
  // Ends the sandbox of this id, if it outlived its maker, and removes its remains outside of its folders.
  // Idempotent. REQUIRES: the process that called execute() is dead.
  virtual void end(const std::string& sandbox_run_id) = 0;
  // As end(), for all sandboxes whose maker is dead, and for temporary folders. This includes sandboxes without a
  // marker (probes, `pawl sandbox exec` and `health`). Never touches the sandbox of a living process.
  virtual void clean_up() = 0;
};

// kNotFound lists the known names.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name);
std::vector<std::string> backend_names();
// The backend for runs whose plan leaves the choice to Pawl ("auto").
std::string default_backend();
// Backend::gate_isolation_class() of this backend; empty for a name that is not registered.
std::string isolation_class_of(std::string_view backend);

}  // namespace pawl::sandbox
