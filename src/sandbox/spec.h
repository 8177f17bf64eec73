// The permissions, limits and result of a step, as plain values. No function here reads the host. Names and
// words are the same in the plan, the ledger and `inspect`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/outcome.h"

namespace pawl::sandbox {

enum class Network { kNone, kScoped };
enum class Access { kReadOnly, kReadWrite };

// A file or folder of the host that the sandbox sees at `dst` (an absolute path inside). With kReadWrite the
// sandbox gets a private copy, so the host's file never changes. A folder that is stored as several trees has
// the topmost tree at `src`.
struct CopyIn {
  std::string src;                      // absolute; not part of the hash
  std::vector<std::string> below = {};  // the lower trees, topmost first; kReadOnly only; not hashed
  std::string dst;
  Access access = Access::kReadOnly;
  std::string content;  // the manifest hash of the data at src; the spec's hash binds it
};

// The workspace at /workspace, named by content: an overlay of the layers (topmost first) over the base.
struct WorkspaceSpec {
  std::string base_id;              // empty: an empty workspace
  std::vector<std::string> layers;  // ids, topmost first
  // The topmost of `layers`, when an earlier execution of this step left it. Its changes count as changes of this
  // execution, too. Empty: no layer is from this step.
  std::string own_layer = {};
  // The commit of the repository at /workspace/.git; empty: there is none. The step's own changes to it are
  // dropped at its end.
  std::string git_commit = {};
  // The ids of the layers that have this repository, topmost first. The hash does not bind them: an index has
  // times, which are not content.
  std::vector<std::string> git_layers = {};
  // Absolute paths of the host: git's databases of objects, which the repository reads at inside::kGitObjects. The
  // sandbox sees them read-only, without their folder `info`. The hash does not bind them: the id of a commit names
  // all that leads to it, and a database grows with each fetch.
  std::vector<std::string> git_objects = {};
};

struct SandboxSpec {
  std::string base_image = "host";
  WorkspaceSpec workspace;
  std::vector<CopyIn> copy_in;
  std::vector<std::string> env;  // "NAME=value", already filtered by the allowlist, sorted
  std::vector<std::string> cmd;  // argv; looked up in PATH of `env`
  Network network = Network::kNone;
  std::vector<std::string> egress_allowlist;
  bool enable_trace = false;
  std::int64_t time_budget_seconds = 600;
  std::int64_t memory_limit_mib = 2048;
  std::int64_t pids_limit = 512;
  std::int64_t cpu_limit_millis = 2000;
  std::int64_t disk_limit_mib = 4096;
  std::int64_t output_limit_bytes = 67108864;
  bool keep_layer = true;             // whether the changes of the step are stored as a layer
  std::vector<std::string> copy_out;  // patterns of files to store even without a layer
  std::vector<std::string> held;      // patterns of files whose changes SandboxRun::changed names
  std::string label;                  // <phase>.<gate>.<step>.attempt<N>
};

// Checks every field. kInvalid names the field: for example, a limit out of range, an empty cmd, or an egress
// allowlist with network none. A dst must be absolute and not under a system folder. Reads no file: setup
// reports a missing src.
Status validate(const SandboxSpec& spec);
// The part of validate() about the dst of a CopyIn.
Status check_destination(const std::string& dst);

// CopyIn::content by dst, for the step's mounts besides /plan and Pawl's own.
using Mounts = std::map<std::string, std::string>;
Mounts mounts_of(const SandboxSpec& spec);

std::string json_text(const SandboxSpec& spec);  // every field as JSON, including src
Result<SandboxSpec> spec_from_json(const Json& json);
// BLAKE3 of the canonical JSON without the src paths and the label: the same work has the same hash.
std::string spec_hash(const SandboxSpec& spec);

using pawl::name;
using pawl::Outcome;
using pawl::outcome_from_name;

struct SandboxRun {
  std::string run_id;  // the sandbox_run_id of the marker
  std::string backend;
  std::string gate_isolation_class;  // the backend's, in a word of base/isolation.h
  std::string started_at, ended_at;  // RFC 3339
  Outcome outcome = Outcome::kSetupFailed;
  std::int64_t exit_code = -1;  // set for kExited; otherwise -1
  std::int64_t signal = 0;      // set for kSignaled; otherwise 0
  std::int64_t duration_ms = 0;
  std::int64_t cpu_ms = 0;       // sum of all processes, by the cgroup; without one, of those waited for
  std::int64_t max_rss_kib = 0;  // peak of all processes together, by the cgroup; without one, of the largest
  std::int64_t microvm_milliseconds = 0;
  std::int64_t image_pull_bytes = 0;
  bool build_cache_hit = false;
  std::string logs;  // object id of stdout and stderr, interleaved; "" without output
  std::int64_t logs_bytes = 0;
  std::vector<std::string> egress_allowlist;  // the allowlist that applied
  std::string network_log;                    // object id of the egress's JSON lines; "" without an access
  std::int64_t egress_refused = 0;            // accesses that the egress refused
  std::string trace;                          // object id of the trace's JSON lines; "" without enable_trace
  std::string layer;                          // layer id; "" without a change, or when no layer was requested
  std::string copy_out;  // layer id of the files that matched copy_out; "" without a match
  std::string reason;    // kSetupFailed: the mechanism and its errno; otherwise a note for the user, or ""
  std::vector<std::string> degraded;  // mechanisms in degraded mode: `pawl sandbox health` explains them
  std::int64_t unsaved = 0;           // number of the agent's requests that could not be saved
  std::int64_t room_needed = 0;       // free disk bytes that the largest of them needed; 0: unknown
  // Paths of the layer that were not stored (devices, sockets, ...), at most 100.
  std::vector<std::string> refused;
  std::int64_t refused_total = 0;  // number of all such paths
  // The refused paths whose file has the value of a credential; at most 100.
  std::vector<std::string> withheld;
  std::int64_t rewritten = 0;  // files that were written without a change: not part of the layer
  // Files of SandboxSpec::held that the step changed or removed, at most 100.
  std::vector<std::string> changed;
  Mounts mounts;  // mounts_of() its spec
};

// Ids of all stored objects of the run; "" for an absent object.
std::vector<std::string> objects_of(const SandboxRun& run);

// True for kExited with exit code 0.
bool succeeded(const SandboxRun& run);
std::string json_text(const SandboxRun& run);  // as JSON
// `json`: our own spool or database. kCorrupt: it does not match.
Result<SandboxRun> run_from_json(const Json& json);

}  // namespace pawl::sandbox
