#include "plan/keys.h"

#include <functional>

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
       {"version", "workflow",   "source",  "env",     "sandbox", "max_attempts",     "models",
        "resume",  "on_retry",   "durable", "ignored", "protect", "protect_existing", "allow_shadowing",
        "files",   "gate_files", "policy",  "budget",  "doctor",  "replan",           "backoff",
        "retry",   "mounts",     "git",     "gates",   "tiers"}},
      {"source", {"path", "ref", "exclude"}},
      {"env", {"names", "set"}},
      {"mount", {"src", "dst"}},
      {"sandbox", kSandboxKeys},
      {"gate",
       {"steps", "signals", "retry", "attempt_overrides", "protect", "protect_existing", "take", "baseline",
        "known_failing"}},
      {"take", {"only"}},
      {"protected", {"pattern", "may_be_absent"}},
      {"step", with_sandbox({"name", "run", "shell", "may_fail", "network", "egress", "trace", "reports"})},
      {"override", with_sandbox({"run", "shell"})},
      {"reports",
       {
#define PAWL_FORMAT(family, name) #name,
#include "report_formats.inc"
#undef PAWL_FORMAT
       }},
      {"retry",
       {"non_retryable", "timeout_retryable", "oom_retryable", "same_failure_max", "flaky_reruns", "flaky"}},
      {"tier", {"name", "on_failure", "parallel", "phases"}},
      {"phase",
       {"id", "goal", "agent", "gates", "best_of", "max_attempts", "resume", "on_retry", "may_be_empty",
        "agent_exit", "protect", "protect_existing"}},
      {"agent",
       with_sandbox({"run", "shell", "use", "acp", "model", "args", "base_url", "permissions", "network",
                     "egress", "trace", "budget", "max_children", "usage", "credentials"})},
      {"credential", {"env", "file", "json", "command"}},
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
      {"profile",
       {"version", "tested", "install", "run", "acp", "continue", "model_args", "needs_model", "set", "files",
        "key", "other_keys", "login", "base_url", "egress", "usage", "exit_codes"}},
      {"profile_base_url", {"default", "set"}},
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

std::string signal_of_format(std::string_view format) {
  static const std::map<std::string, std::string, std::less<>> families = {
#define PAWL_FORMAT(family, name) {#name, #family},
#include "report_formats.inc"
#undef PAWL_FORMAT
  };
  const std::string& family = families.find(format)->second;
  return family == "analysis" ? "sarif_delta" : family == "vulnerabilities" ? "cve_delta" : family;
}

std::string_view format_of_runner(std::string_view runner) {
  static const std::map<std::string_view, std::string_view> formats = {
      {"pytest", "junit: pytest --junitxml=out.xml"},
      {"unittest", "junit: python3 -m pytest --junitxml=out.xml, which runs tests of unittest, too"},
      {"surefire", "junit: Maven writes target/surefire-reports/*.xml"},
      {"maven", "junit: Maven writes target/surefire-reports/*.xml"},
      {"gradle", "junit: Gradle writes build/test-results/**/*.xml"},
      {"gtest", "junit: --gtest_output=xml:out.xml"},
      {"googletest", "junit: --gtest_output=xml:out.xml"},
      {"phpunit", "junit: phpunit --log-junit out.xml"},
      {"rspec", "junit: rspec --format RspecJunitFormatter --out out.xml"},
      {"nextest", "junit: the profile's junit.path of cargo nextest"},
      {"xunit", "junit: JUnit XML, which most runners write"},
      {"go", "gotest: go test -json ./... > out.json"},
      {"rust", "cargo: cargo test > out.txt 2>&1"},
      {"vitest", "jest: vitest run --reporter=json --outputFile=out.json"},
      {"node", "tap: node --test --test-reporter=tap > out.tap"},
      {"tape", "tap: tape 'test/*.js' > out.tap"},
      {"prove", "tap: PERL_TEST_HARNESS_DUMP_TAP=tap prove, with tap/**"},
      {"perl", "tap: perl a.t > out.tap"},
      {"bats", "tap: bats --formatter tap test > out.tap"},
      {"eslint", "sarif: eslint --format @microsoft/eslint-formatter-sarif -o out.sarif"},
      {"semgrep", "sarif: semgrep --sarif --output out.sarif"},
      {"trivy", "cyclonedx: trivy fs --format cyclonedx --scanners vuln -o out.json ."},
      {"npm", "npm_audit: npm audit --json > out.json, with may_fail: true"},
  };
  const auto found = formats.find(runner);
  return found == formats.end() ? "" : found->second;
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
