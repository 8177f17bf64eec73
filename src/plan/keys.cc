#include "plan/keys.h"

namespace pawl::plan {
namespace {

const std::vector<std::string> kSandboxKeys = {
    "backend",        "base_image",         "memory_limit_mib",    "pids_limit",     "cpu_limit_millis",
    "disk_limit_mib", "output_limit_bytes", "time_budget_seconds", "refused_entries"};

std::vector<std::string> with_sandbox(std::vector<std::string> keys) {
  keys.insert(keys.end(), kSandboxKeys.begin(), kSandboxKeys.end());
  return keys;
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& known_keys() {
  static const std::map<std::string, std::vector<std::string>> keys = {
      {"plan",
       {"version", "workflow", "source", "env", "sandbox", "max_attempts", "models", "resume", "durable",
        "ignored", "protect", "policy", "budget", "doctor", "replan", "backoff", "gates", "tiers"}},
      {"source", {"path", "ref", "exclude"}},
      {"sandbox", kSandboxKeys},
      {"gate", {"steps", "signals", "retry", "attempt_overrides"}},
      {"step", with_sandbox({"name", "run", "shell", "may_fail", "network", "egress", "trace", "reports"})},
      {"override", with_sandbox({"run", "shell"})},
      {"reports",
       {
#define PAWL_FORMAT(family, name) #name,
#include "report_formats.inc"
#undef PAWL_FORMAT
       }},
      {"retry", {"non_retryable", "timeout_retryable", "oom_retryable"}},
      {"tier", {"name", "on_failure", "parallel", "phases"}},
      {"phase", {"id", "goal", "agent", "gates", "best_of", "max_attempts", "resume"}},
      {"agent",
       with_sandbox({"run", "shell", "network", "egress", "trace", "budget", "max_children", "usage"})},
      {"agent_budget", {"usd", "tokens"}},
      {"resume", {"probe"}},
      {"policy", {"file", "blake3"}},
      {"policy_file",
       {"version", "limits", "forbidden_paths", "watched", "watched_paths", "binaries", "executables",
        "symlinks", "secrets", "secrets_except", "npm_lockfile", "trace"}},
      {"policy_trace", {"shells", "executables", "endpoints"}},
      {"policy_limits", {"files", "lines", "file_bytes", "bytes"}},
      {"budget", {"usd", "tokens", "sandbox_seconds"}},
      {"doctor", with_sandbox({"run", "shell", "after_failures", "network", "egress", "trace"})},
      {"replan", with_sandbox({"run", "shell", "max_replans", "network", "egress", "trace"})},
      {"backoff", {"initial_seconds", "max_seconds"}},
  };
  return keys;
}

const std::vector<std::string>& usage_words() {
  static const std::vector<std::string> words = {
#define PAWL_USAGE(name) #name,
#include "usage_readers.inc"
#undef PAWL_USAGE
  };
  return words;
}

const std::vector<std::string>& signal_words() {
  static const std::vector<std::string> words = {
#define PAWL_SIGNAL(name) #name,
#define PAWL_ATTEMPT_SIGNAL(name)
#include "signal_kinds.inc"
#undef PAWL_SIGNAL
#undef PAWL_ATTEMPT_SIGNAL
  };
  return words;
}

}  // namespace pawl::plan
