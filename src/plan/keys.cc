#include "plan/keys.h"

#include <algorithm>

#include "plan/parse.h"

namespace pawl::plan {
namespace {

const std::vector<std::string> kSandboxKeys = {
    "backend",        "base_image",         "memory_limit_mib",    "pids_limit",     "cpu_limit_millis",
    "disk_limit_mib", "output_limit_bytes", "time_budget_seconds", "refused_entries"};

std::vector<std::string> with_sandbox(std::vector<std::string> keys) {
  keys.insert(keys.end(), kSandboxKeys.begin(), kSandboxKeys.end());
  return keys;
}

// Levenshtein, two rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& known_keys() {
  static const std::map<std::string, std::vector<std::string>> keys = {
      {"plan",
       {"version", "workflow", "source", "env", "sandbox", "max_attempts", "models", "resume", "durable",
        "protect", "policy", "budget", "doctor", "replan", "backoff", "gates", "tiers"}},
      {"source", {"path", "ref"}},
      {"sandbox", kSandboxKeys},
      {"gate", {"steps", "signals", "retry", "attempt_overrides"}},
      {"step", with_sandbox({"name", "run", "network", "egress", "trace", "reports"})},
      {"override", with_sandbox({"run"})},
      {"reports",
       {
#define PAWL_FORMAT(family, name) #name,
#include "report_formats.inc"
#undef PAWL_FORMAT
       }},
      {"retry", {"non_retryable", "timeout_retryable", "oom_retryable"}},
      {"tier", {"name", "on_failure", "parallel", "phases"}},
      {"phase", {"id", "goal", "agent", "gates", "best_of", "max_attempts", "resume"}},
      {"agent", with_sandbox({"run", "network", "egress", "trace", "budget", "max_children", "usage"})},
      {"agent_budget", {"usd", "tokens"}},
      {"resume", {"probe"}},
      {"policy", {"file", "blake3"}},
      {"policy_file",
       {"version", "limits", "forbidden_paths", "watched", "watched_paths", "binaries", "executables",
        "symlinks", "secrets", "secrets_except", "npm_lockfile", "trace"}},
      {"policy_trace", {"shells", "executables", "endpoints"}},
      {"policy_limits", {"files", "lines", "file_bytes", "bytes"}},
      {"budget", {"usd", "tokens", "sandbox_seconds"}},
      {"doctor", with_sandbox({"run", "after_failures", "network", "egress", "trace"})},
      {"replan", with_sandbox({"run", "max_replans", "network", "egress", "trace"})},
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

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kWordMax = 200;  // a longer one is no misspelling of ours
  if (word.size() > kWordMax) return std::nullopt;
  const std::size_t allowed = std::max<std::size_t>(2, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = allowed + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace pawl::plan
