// One way to make sandboxes. Steps (supervisor/step_runner.h) and probes (probe.h) are built on it. A backend
// is registered by name (registry.cc). Other rooms take names from there; a plan has words (plan/sections.cc).
// docs/extending.md lists all places of a new backend.
//
// A sandbox belongs to the process that called execute(). After the death of that process the backend's own
// mechanism or end() ends the sandbox.
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

// The workspace as folders of the host. The sandbox changes only `upper`.
struct Folders {
  std::vector<std::string> lower;  // trees, topmost first, the base last; may be empty
  // Exists and is empty. Changes are stored here, in the form that Execution::changes says. Empty path: the
  // workspace is read-only.
  std::string upper;
  std::string work;  // exists, empty, same file system as upper
  // Exists and is empty. Holds /var/tmp, which has room for large temporary files, an empty HOME, and the
  // private copies of copy_in rw. Empty path: /var/tmp is /tmp, HOME is in memory, and no private copy can be
  // made.
  std::string scratch;
  // Exists, and is HOME with all files that earlier sandboxes left there. They count against the disk limit. The
  // folder is given to the sandbox's user. A copy_in below HOME is refused, because a link that an earlier sandbox
  // left could lead its mount elsewhere. Empty path: HOME is empty, and not stored.
  std::string home;
  // True: /workspace has no lower tree, lies in the sandbox's memory as /tmp does, and is not stored.
  bool in_memory = false;
  // Paths of the host, with links resolved, that stay hidden where the sandbox would show them: below the
  // host's base (a source in /usr/src) or below one of `lower`. The HOME of this process is always hidden.
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
  // Makes the way out of the sandbox. Required with network scoped.
  OpenOutlet open_outlet;
  // Lines of the trace (docs/security.md, "The trace of a step"), without newlines. Required with enable_trace.
  std::function<void(std::string_view)> on_trace;
  // Replaces the secrets in an argument of the trace, before the argument is cut. Optional.
  std::function<std::string(std::string_view)> redact;
  // The command's standard input is a copy of this descriptor, up to its end; -1: the input is empty. The
  // sandbox may read more from the descriptor than the command does. REQUIRES: not a terminal, not a folder.
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
// Tells the places that collect changes how to read them. A switch, so that the compiler asks here for the form of a
// new backend, such as an archive from another machine.
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
  // Whether the sandbox of `spec` can be made on this machine. Makes a sandbox with its mechanisms in milliseconds,
  // without a workspace, a network and the spec's command. With enable_trace, checks that the trace has content.
  // Thread-safe. kDenied names the obstacle.
  virtual Status check(const SandboxSpec& spec) = 0;
  // Blocks until every process of the sandbox has ended and every resource of the sandbox outside of `folders` is
  // removed. REQUIRES: validate(spec) holds. Never fails because of the command. A sandbox that could not be made has
  // the outcome kSetupFailed, with the mechanism in `reason`. Thread-safe with a read-only workspace and no network;
  // otherwise one call at a time.
  virtual Execution execute(const SandboxSpec& spec, const Folders& folders, const Events& events,
                            const std::string& sandbox_run_id) = 0;
  // Attacks and limits real sandboxes, and says which mechanisms work.
  virtual Health health(const ClosedOutlets& outlets) = 0;
  // The mechanisms in degraded mode in every sandbox here, with their replacements. Makes no sandbox.
  virtual std::vector<Mechanism> degraded() = 0;
  // The form of the changes that a sandbox left in `folders.upper`, when its maker died before execute() returned.
  virtual Changes changes_left(const Folders& folders) = 0;
  // Ends the sandbox of this id, if it outlived its maker, and removes its remains outside of its folders.
  // Idempotent. REQUIRES: the process that called execute() is dead.
  virtual void end(const std::string& sandbox_run_id) = 0;
  // The same for sandboxes of any id, and for temporary folders. This includes sandboxes without a marker
  // (probes, `pawl sandbox exec` and `health`). Never touches the sandbox of a living process.
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
