// What a step may do, and how it ended: plain values. The words are those of the plan, the ledger and
// `inspect`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pawl::sandbox {

enum class Network { kNone, kScoped };
enum class Access { kReadOnly, kReadWrite };

// A file or folder of the host that the sandbox sees at `dst` (an absolute path inside). kReadWrite gets a
// private copy: the host's never changes. A folder that is kept as several trees has the topmost at `src`.
struct CopyIn {
  std::string src;                      // absolute; not part of the hash
  std::vector<std::string> below = {};  // the others, topmost first; with kReadOnly only; nor are they
  std::string dst;
  Access access = Access::kReadOnly;
  std::string content;  // the manifest hash of what is at src: this is what the hash binds
};

// The workspace at /workspace: an overlay of the layers (first: the topmost) over the base, by content.
struct WorkspaceSpec {
  std::string base_id;              // empty: an empty workspace
  std::vector<std::string> layers;  // ids, topmost first
};

struct SandboxSpec {
  std::string base_image = "host";
  WorkspaceSpec workspace;
  std::vector<CopyIn> copy_in;
  std::vector<std::string> env;  // "NAME=value", already through the allowlist, sorted
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
  bool keep_layer = true;             // whether what it changed is kept as a layer
  std::vector<std::string> copy_out;  // patterns of files it made that are kept even without a layer
  std::string label;                  // <phase>.<gate>.<step>.attempt<N>
};

// kInvalid, naming the field: budgets and limits out of range, an empty cmd, a dst that is not absolute or is
// under a system folder, egress with network none, ... (design, section 6).
Status validate(const SandboxSpec& spec);

// Whether a person may show this path of the host in a sandbox, by what it is when its links are followed.
// kInvalid with the reason: somebody's home, keys (.ssh, .gnupg, ...), .pawl, sockets and /run, /proc, /sys,
// /dev, or a folder that has one of them in it. kNotFound.
Status check_shown(const std::string& path);

std::string json_text(const SandboxSpec& spec);  // as JSON: everything, with src
Result<SandboxSpec> spec_from_json(const Json& json);
// BLAKE3 of the canonical JSON without the src paths and without the label: the same work has the same hash.
std::string spec_hash(const SandboxSpec& spec);

// Exactly one, and a limit's before the command's own end: when the kernel killed a process of it for memory
// (anyone; the command may have gone on), or what it left is more than the disk limit (or one file longer),
// it is oom_killed or disk_limit, and `reason` says how the command itself ended. A signal is no proof of a
// limit: a program can send itself any. What a program was refused and dealt with (no more processes, a full
// /tmp) is no ending.
enum class Outcome { kExited, kSignaled, kTimedOut, kOomKilled, kOutputLimit, kDiskLimit, kSetupFailed };
std::string_view name(
    Outcome outcome);  // exited, signaled, timed_out, oom_killed, output_limit, disk_limit, setup_failed
Result<Outcome> outcome_from_name(std::string_view name);

struct SandboxRun {
  std::string run_id;  // = sandbox_run_id of the marker
  std::string backend;
  std::string gate_isolation_class;  // shared_kernel | microvm
  std::string started_at, ended_at;  // RFC 3339
  Outcome outcome = Outcome::kSetupFailed;
  std::int64_t exit_code = -1;  // of kExited; else -1
  std::int64_t signal = 0;      // of kSignaled; else 0
  std::int64_t duration_ms = 0;
  std::int64_t cpu_ms = 0;       // of all in there, by its cgroup; without one, of those that were waited for
  std::int64_t max_rss_kib = 0;  // together, by its cgroup; without one, of the largest
  std::int64_t microvm_milliseconds = 0;
  std::int64_t image_pull_bytes = 0;
  bool build_cache_hit = false;
  std::string logs;  // object id of stdout and stderr, interleaved; "" when nothing was printed
  std::int64_t logs_bytes = 0;
  std::vector<std::string> egress_allowlist;  // what it was held to
  std::string network_log;          // object id of the egress's JSON lines; "" when nothing was tried
  std::int64_t egress_refused = 0;  // tries that the egress refused
  std::string trace;                // object id of the trace's JSON lines; "" without enable_trace
  std::string layer;                // layer id; "" when nothing changed or no layer was asked for
  std::string copy_out;             // layer id of what matched copy_out; "" when nothing did
  std::string reason;  // of kSetupFailed: the mechanism and its errno; else what a person should know, or ""
  std::vector<std::string>
      degraded;  // names of mechanisms that it had to do without: `pawl sandbox health` explains them
  std::int64_t unsaved = 0;      // how much of what an agent told could not be saved
  std::int64_t room_needed = 0;  // bytes free on the disk that the largest of it asked for; 0: not known
  std::vector<std::string>
      refused;  // paths of the layer that were not kept (devices, sockets, ...), at most 100
  std::int64_t refused_total = 0;  // how many there were
  std::int64_t rewritten = 0;      // files that it wrote and left as they were: no part of the layer
};

std::vector<std::string> objects_of(const SandboxRun& run);  // ids of all that is kept of it

// exited with 0.
bool succeeded(const SandboxRun& run);
std::string json_text(const SandboxRun& run);  // as JSON
Result<SandboxRun> run_from_json(
    const Json& json);  // of our own spool or database: kCorrupt when it does not fit

// Names that never pass from the host into a sandbox: they contain KEY, TOKEN, SECRET, PASSWORD, AUTH or
// CREDENTIAL (any case); and values that are URLs with credentials in them.
bool is_denied_env_name(std::string_view name);
bool has_url_credentials(std::string_view value);

// PATH=..., the same whoever asks: folders of the host's base that are there, or were a second ago. The
// caller's PATH may have folders that a step can write, or that are not inside. Thread-safe.
std::string path_inside();
// path_inside(), and LANG, TZ and `names` of this process's environment, by inclusion; never one of those
// above.
std::vector<std::string> allowed_environment(const std::vector<std::string>& names);

}  // namespace pawl::sandbox
