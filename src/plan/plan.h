// A plan as a value. parse.h builds it from plan.yaml, rows.h reads it back from the store.
// docs/plan-format.md describes every key.
//
// Everything here is validated: names exist, limits are in range, patterns are safe. Defaults are filled in,
// so that no caller handles an absent key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/path_rules.h"

namespace pawl::plan {

// A position in the plan file, counted from 1; 0 means that there is none.
struct Place {
  std::int64_t line = 0, column = 0;
  bool operator==(const Place&) const = default;
};

struct Finding {  // about a place in the plan
  Place at;
  std::string message;
};

enum class Network { kNone, kScoped };
enum class RefusedEntries { kRecord, kFail };  // when a step left entries that can't be stored
enum class OnFailure { kStop, kContinue };
enum class OnRetry { kFresh, kContinue };  // what the agent of the next attempt begins with
enum class AgentExit { kZero, kAny };      // exit codes with which an agent's work may pass
enum class Ignored { kLeaveOut, kKeep };   // for files that the source's .gitignore names
// The repository at /workspace/.git of each step, which Pawl makes. kNone: no repository. kSnapshot: it has one commit.
// kHistory: it has one commit on top of the source's commits, whose objects the step sees read-only.
enum class Git { kNone, kSnapshot, kHistory };
// When data that an agent reports can't be saved: kRequired stops the agent, kBestEffort lets it go on
// without that data.
enum class Durable { kRequired, kBestEffort };
// kContinue: the next execution goes on in the workspace and HOME of the lost one.
enum class ResumePolicy { kReExecute, kSkip, kEscalate, kProbe, kContinue };

// How to treat a step of the agent whose result was lost in a crash.
struct Resume {
  ResumePolicy policy = ResumePolicy::kReExecute;
  // For kProbe: the command that finds out whether the step's effect happened.
  std::vector<std::string> probe;
  bool operator==(const Resume&) const = default;
};

// Limits of one step. The plan's `sandbox` gives defaults, and a step overrides single values. Units are in
// the names.
struct Limits {
  std::string backend = "auto";  // auto | namespace; stored, but no code chooses a backend by it yet
  std::string base_image = "host";
  std::int64_t memory_limit_mib = 2048;
  std::int64_t pids_limit = 512;
  std::int64_t cpu_limit_millis = 2000;  // thousandths of one core
  std::int64_t disk_limit_mib = 4096;
  std::int64_t output_limit_bytes = 67108864;
  std::int64_t time_budget_seconds = 600;
  RefusedEntries refused_entries = RefusedEntries::kRecord;
  bool operator==(const Limits&) const = default;
};

// Report files that a step writes, all in one format of gates/formats.
struct Reports {
  std::string format;
  std::vector<std::string> patterns;  // relative to the workspace, never empty
  bool operator==(const Reports&) const = default;
};

// The shell for a `run` that is a string. Each shell stops at the first command that fails; bash also fails a
// pipeline when any part fails. kBest is bash where the sandbox has it, otherwise sh.
enum class Shell { kBest, kSh, kBash };

struct Step {
  std::string name;
  std::vector<std::string> argv;  // for a string in the plan: script_argv() of script.h
  Shell shell = Shell::kBest;
  bool may_fail = false;  // in a gate: an exit code from 1 to 125 does not fail it
  Network network = Network::kNone;
  std::vector<std::string> egress;
  bool trace = false;
  std::vector<Reports> reports;  // in the order of known_keys()
  Limits limits;
  bool operator==(const Step&) const = default;
};

// The default of `same_failure_max`. When the same failure occurs this often in a row, no further attempt
// helps.
constexpr std::int64_t kSameFailureMax = 3;

enum class Flaky { kFail, kPass };  // a gate whose runs on the same content have other results
constexpr std::int64_t kFlakyRerunsMax = 5;

struct RetryPolicy {
  std::vector<std::string> non_retryable;  // kinds of signals
  bool timeout_retryable = true;
  bool oom_retryable = false;
  std::optional<std::int64_t> same_failure_max = kSameFailureMax;  // absent: the same failure ends no phase
  std::int64_t flaky_reruns = 0;  // a gate that failed runs so often again, until a result differs
  Flaky flaky = Flaky::kFail;
  bool operator==(const RetryPolicy&) const = default;
};

// Paths that an attempt may not change. Each pattern must match something in base, unless it is in
// may_be_absent.
struct Guarded {
  PathRules rules;
  std::vector<std::string> may_be_absent;  // a subset of the patterns
  std::map<std::string, Place> at;         // place of each pattern; only after parsing
  bool operator==(const Guarded& other) const {
    return rules == other.rules && may_be_absent == other.may_be_absent;
  }
};

enum class Baseline { kTaken, kNone };  // whether the gate also runs on base (kTaken) or never there (kNone)
enum class KnownFailing { kNone, kBase };  // tests that may fail: none, or those that fail on base

struct Gate {
  std::string name;
  std::vector<Step> steps;                              // never empty
  std::map<std::int64_t, std::vector<Step>> overrides;  // complete steps of attempts that have overrides
  std::vector<std::string> signals;                     // required kinds of signals (gates/signals)
  Place signals_at;
  RetryPolicy retry;
  Guarded guarded;                     // for every phase that has this gate
  std::vector<std::string> take_only;  // patterns of the agent's changes; empty: all changes
  Baseline baseline = Baseline::kTaken;
  KnownFailing known_failing = KnownFailing::kNone;

  // The override for attempt `n` (from 1), else `steps`.
  const std::vector<Step>& steps_of_attempt(std::int64_t n) const;
  bool operator==(const Gate&) const = default;
};

// Whether a failure can keep tests of the step from running without any other sign: the gate lets the failure pass, or
// a pattern of the step's reports has a wildcard, so that no report counts as missing.
bool failures_may_hide_tests(const Gate& gate, const Step& step);

// Limits on the usage that agents report (docs/agents.md); absent: not limited.
constexpr std::int64_t kTokensMax = 1'000'000'000'000;
struct Spending {
  std::optional<std::int64_t> tokens, usd_nanos;
  bool operator==(const Spending&) const = default;
};

// A variable of an agent's step with a secret value, which Pawl reads outside of every sandbox. One of `env`,
// `file` and `command` is set.
struct Credential {
  std::string name;  // the variable's
  std::string env;   // the variable of the user who runs Pawl
  std::string file;  // as written: absolute, or below "~/"
  std::string json;  // where the value is in a file with JSON (RFC 6901); "": the file is the value
  std::vector<std::string> command;  // prints the value
  Place at;                          // in the plan
  bool operator==(const Credential&) const = default;
};

// The largest `best_of`. Beyond it, the budget is better spent on attempts, which learn from each other.
constexpr std::int64_t kBestOfMax = 8;

struct Phase {
  std::string id;  // [a-z0-9][a-z0-9._-]{0,63}
  std::string goal;
  Step agent;  // name "run"
  // The command with which the agent goes on in its own session; empty: `agent` has the only one.
  std::vector<std::string> agent_continue;
  bool agent_acp = false;  // `agent` starts Pawl's client of the Agent Client Protocol, and so has to see it
  std::vector<Credential> credentials;  // for the agent's step alone
  Spending agent_budget;                // for one attempt
  std::int64_t max_children = 100;      // for one episode
  std::string agent_usage;              // the program whose output reports its usage; "": none
  std::string agent_model;              // PAWL_MODEL of all attempts; "": as Common::model_of_attempt() says
  std::map<std::int64_t, std::string> exit_codes;  // what exit codes of the agent mean, by its profile
  std::vector<std::string> gates;                  // names of Plan::gates, in order, never empty
  std::int64_t best_of = 1;                        // episodes per attempt
  std::int64_t max_attempts = 5;
  Resume resume;
  OnRetry on_retry = OnRetry::kFresh;
  Durable durable = Durable::kRequired;
  bool may_be_empty = false;  // an attempt without changes may pass
  AgentExit agent_exit = AgentExit::kZero;

  // Whether an attempt must change a file. With a probe the effect lies elsewhere, and the probe looks for
  // it.
  bool needs_change() const { return !may_be_empty && resume.policy != ResumePolicy::kProbe; }
  Guarded guarded;
  bool operator==(const Phase&) const = default;
};

struct Tier {
  std::string name;  // "tier<N>" when the plan gives none
  OnFailure on_failure = OnFailure::kStop;
  bool parallel = false;
  std::vector<Phase> phases;  // never empty
  bool operator==(const Tier&) const = default;
};

struct Doctor {
  Step step;  // name "run"
  std::int64_t after_failures = 2;
  bool operator==(const Doctor&) const = default;
};

struct Replan {
  Step step;  // name "run"
  std::int64_t max_replans = 1;
  bool operator==(const Replan&) const = default;
};

// The wait before attempt n + 1 of a revision: a random part of min(max, initial * 2^(n-1)) seconds ("full
// jitter").
struct Backoff {
  std::int64_t initial_seconds = 0, max_seconds = 0;
  bool operator==(const Backoff&) const = default;
};

// Limits on what a run may spend; absent: not limited.
constexpr std::int64_t kBudgetSecondsMax = 1'000'000'000;  // about thirty years
struct Budget {
  std::optional<std::int64_t> sandbox_seconds;
  Spending of_agents;
  bool operator==(const Budget&) const = default;
};

// Names the file with rules on what attempts change (docs/policy.md). The file lies outside the source.
struct PolicyFile {
  std::string file;    // as written; relative to the plan's folder
  std::string blake3;  // BLAKE3 of its content; "" when the plan does not pin it
  Place at;            // place of `policy` in the plan
  bool operator==(const PolicyFile&) const = default;
};

// A file or folder of the host that every step sees, read-only.
struct Mount {
  std::string src;  // as written: absolute, or below "~/", the home of the user who runs Pawl
  std::string dst;  // absolute; "": the path of src
  Place at;         // in the plan
  bool operator==(const Mount&) const = default;
};

// The plan without its phases. An executor holds this for a run, and one phase at a time.
struct Common {
  std::string workflow;
  std::string source_path;  // as written; relative to the plan's folder
  // Absolute, as the run found it. "" in a plan that no run has, and in rows of older versions.
  std::string source_folder;
  std::optional<std::string> source_ref;       // absent: the directory as it is
  std::vector<std::string> source_exclude;     // patterns of paths that no base contains
  std::vector<std::string> env;                // names of the host's variables that pass
  std::map<std::string, std::string> env_set;  // variables with a value in the plan; no name is also in env
  std::vector<Mount> mounts;
  std::map<std::string, std::string> profiles;  // texts of the profiles that agents use, by name (profile.h)
  std::vector<std::string> models;
  Ignored ignored = Ignored::kLeaveOut;
  Git git = Git::kNone;  // in rows of older versions; a plan without the key has kSnapshot
  Guarded guarded;
  std::vector<std::string> allow_shadowing;  // patterns, see docs/policy.md#shadowing
  std::vector<std::string> files;            // shown in /plan, from the plan's folder; empty: all that may be
  std::vector<std::string> gate_files;       // the subset of the files that agents do not see
  std::string plan_for_agents;               // the base that agents see at /plan; "": the same as for gates
  std::optional<PolicyFile> policy;
  std::optional<Doctor> doctor;
  std::optional<Replan> replan;
  Backoff backoff;
  Budget budget;
  std::map<std::string, Gate> gates;
  bool has_credentials = false;  // some agent has
  std::string traced;            // first step with a trace, for messages: "phase fix, agent"; "": none

  // PAWL_MODEL of attempt `n` (from 1): models[min(n-1, last)], or "" when the plan names none.
  const std::string& model_of_attempt(std::int64_t n) const;
  bool operator==(const Common&) const = default;
};

// Paths that an attempt of the phase may not change: the rules of the plan, the phase and its gates.
PathRules rules_of(const Common& common, const Phase& phase);
// The same, plus source_exclude: no base has those paths, and a commit keeps the source's files there.
PathRules rules_on_agent(const Common& common, const Phase& phase);

// The phase of an agent whose profile has a key, where neither its `credentials` nor `env` of the plan has that.
// With `credentials: {}` none is wanted. executor/program_keys.h gives it one.
struct WantedKey {
  std::string profile;        // its name in Common::profiles
  bool has_base_url = false;  // the server there may ask for no key
  Place at;                   // the place of `use`
  bool operator==(const WantedKey&) const = default;
};

struct Plan : Common {
  std::vector<Tier> tiers;                       // never empty
  std::map<std::string, WantedKey> wanted_keys;  // by phase; only after parsing

  // Null when the plan has no such phase.
  const Phase* find_phase(const std::string& id) const;
  bool operator==(const Plan&) const = default;
};

}  // namespace pawl::plan
