// One sandbox execution in this very process: the layer below both seams. A backend registers by name.
//
// When the calling thread dies, however it dies, the kernel kills the whole sandbox (PR_SET_PDEATHSIG on the
// init of its pid namespace).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sandbox/spec.h"

namespace pawl::sandbox {

// The workspace, resolved to folders of the host. The sandbox changes only `upper`.
struct Folders {
  std::vector<std::string> lower;  // trees, topmost first, the base last; may be empty
  std::string upper;  // exists, empty; what changes lands here in overlayfs form (c 0:0 whiteouts,
                      // user.overlay.opaque), or, when `copied` comes back true, as the whole tree; none: the
                      // workspace is read-only
  std::string work;   // exists, empty, same file system as upper
  // Exists, empty: for /var/tmp, where large temporary files have room, and for the copies that copy_in rw
  // asks for. None: /var/tmp is /tmp, and nothing is copied in.
  std::string scratch;
  bool in_memory =
      false;  // nothing is below and nothing is kept: /workspace is the sandbox's memory, as /tmp is
  // Paths of the host that stay out of sight where they lie below what every sandbox sees (a source in
  // /usr/src), or below one of `lower`, without links; the HOME of this process always does.
  std::vector<std::string> hidden;
};

enum class Stream { kStdout, kStderr };

// What the sandbox tells while it runs.
struct Events {
  // Called with each chunk of output, at most output_limit_bytes in total. Required.
  std::function<void(Stream, std::string_view)> on_output;
  // Called a few times a second; true ends the sandbox (outcome kSignaled, SIGKILL, reason "cancelled").
  // Optional.
  std::function<bool()> should_stop;
  // Lines about each try to reach the network (egress/egress.h) and about what was executed (trace/tracer.h),
  // without newlines. Required with network scoped, and with enable_trace. on_network comes from other
  // threads, one at a time.
  std::function<void(std::string_view)> on_network, on_trace;
  // What is secret in an argument of the trace, before it is cut. Optional.
  std::function<std::string(std::string_view)> redact;
  // What the command reads from its standard input, up to its end, is copied from here; -1: the input is
  // empty. More may be taken from it than the command reads. REQUIRES: no terminal, no
  // folder.
  int input = -1;
  // Descriptors that stay open until everything in the sandbox is dead: of a lock that says so. All others of
  // this process are closed in there. Optional.
  std::vector<int> held;
};

struct Execution {
  SandboxRun run;       // without logs, layer and copy_out, which the caller fills in
  bool copied = false;  // `upper` holds the whole tree instead of an overlay's upper
};

// How sure a mechanism is, for `pawl sandbox health`.
struct Mechanism {
  std::string name;    // "user_namespace", "overlay", "cgroup_memory", ...
  std::string status;  // works | degraded | missing
  std::string detail;  // what is used instead, or what to install or set
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
  virtual std::string gate_isolation_class() const = 0;
  // Blocks until every process of the sandbox is gone and its cgroups are removed. REQUIRES: validate(spec)
  // holds. Never fails for what the command did; a sandbox that could not be made is outcome kSetupFailed
  // with the mechanism in `reason`. Thread-safe for a read-only workspace without a network; else one at a
  // time.
  virtual Execution execute(const SandboxSpec& spec, const Folders& folders, const Events& events,
                            const std::string& sandbox_run_id) = 0;
  virtual Health health() = 0;
  // What every sandbox here has to do without, all degraded, with what is used instead; without making one.
  virtual std::vector<Mechanism> does_without() = 0;
  // Whether a sandbox can be made, by making one: in milliseconds, without a trace on disk, from any thread.
  // kDenied says what is in the way.
  virtual Status usable() = 0;
  // The same for one with enable_trace, whose trace tells something.
  virtual Status traceable() = 0;
  // Removes what a sandbox whose supervisor was killed left in the kernel (cgroups). Idempotent.
  virtual void clean_up(const std::string& sandbox_run_id) = 0;
  // Removes what sandboxes of any id left in the kernel and in temporary folders, when whoever made them was
  // killed: also those that no marker names (probes, `pawl sandbox exec` and `health`). Never what belongs to
  // a living one. Reads the folder of every cgroup of the machine, some 40 us each.
  virtual void sweep() = 0;
};

// "namespace" today. "auto" is resolved by the caller, once a run. kNotFound names the known ones.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name);
std::vector<std::string> backend_names();

}  // namespace pawl::sandbox
