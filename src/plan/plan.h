// A plan as a value. parse.h makes it out of plan.yaml; docs/plan-format.md describes every key.
//
// Everything here is validated: names exist, limits are in range, patterns are safe. Defaults are filled in,
// so that nobody downstream asks what an absent key means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/path_rules.h"

namespace pawl::plan {

// In the plan, from 1; 0: it is not there.
struct Place {
  std::int64_t line = 0, column = 0;
  bool operator==(const Place&) const = default;
};

enum class Network { kNone, kScoped };
enum class RefusedEntries { kRecord, kFail };  // of a step that left what can't be kept
enum class OnFailure { kStop, kContinue };
enum class AgentExit { kZero, kAny };     // exit codes of an agent whose work may pass
enum class Ignored { kLeaveOut, kKeep };  // files that the source's .gitignore names
// What becomes of an agent that tells something which can't be saved: it is stopped, or goes on without.
enum class Durable { kRequired, kBestEffort };
enum class ResumePolicy { kReExecute, kSkip, kEscalate, kProbe };

// What to do with a step of the agent whose result a crash lost.
struct Resume {
  ResumePolicy policy = ResumePolicy::kReExecute;
  std::vector<std::string> probe;  // of kProbe: the command that finds out whether the step's effect happened
  bool operator==(const Resume&) const = default;
};

// Limits of one step; the plan's `sandbox` gives defaults, a step overrides each. Units are in the names.
struct Limits {
  std::string backend = "auto";  // auto | namespace
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

// Files that a step writes, of one format of gates/formats.
struct Reports {
  std::string format;
  std::vector<std::string> patterns;  // relative to the workspace, never empty
  bool operator==(const Reports&) const = default;
};

// The shell that runs a `run` that is a string. Each stops at the first command that fails; bash also fails a
// pipeline of which any part fails. kBest is bash where the sandbox has it, else sh.
enum class Shell { kBest, kSh, kBash };

struct Step {
  std::string name;
  std::vector<std::string> argv;  // of a string in the plan: script_argv() of script.h
  Shell shell = Shell::kBest;
  bool may_fail = false;  // of a gate: an exit code from 1 to 125 does not fail it
  Network network = Network::kNone;
  std::vector<std::string> egress;
  bool trace = false;
  std::vector<Reports> reports;  // of its tests; in the order of known_keys()
  Limits limits;
  bool operator==(const Step&) const = default;
};

// The same failure this often in a row, where the plan does not say how often: no attempt will help.
constexpr std::int64_t kSameFailureMax = 3;

struct RetryPolicy {
  std::vector<std::string> non_retryable;  // kinds of signals
  bool timeout_retryable = true;
  bool oom_retryable = false;
  std::optional<std::int64_t> same_failure_max = kSameFailureMax;  // absent: the same failure ends nothing
  bool operator==(const RetryPolicy&) const = default;
};

// What an attempt may not change; each pattern is to match something in base unless it may be absent.
struct Guarded {
  PathRules rules;
  std::vector<std::string> may_be_absent;  // of the patterns
  std::map<std::string, Place> at;         // where each pattern stands; of a plan that was parsed
  bool operator==(const Guarded& other) const {
    return rules == other.rules && may_be_absent == other.may_be_absent;
  }
};

enum class Baseline {
  kTaken,
  kNone
};  // whether base has something to tell a gate: kNone, it never runs there
enum class KnownFailing { kNone, kBase };  // tests that may fail: none, or those that fail on base

struct Gate {
  std::string name;
  std::vector<Step> steps;                              // never empty
  std::map<std::int64_t, std::vector<Step>> overrides;  // all steps of attempts that have other ones
  std::vector<std::string> signals;                     // required kinds, of gates/signals
  Place signals_at;
  RetryPolicy retry;
  Guarded guarded;                     // of every phase that has this gate
  std::vector<std::string> take_only;  // of the agent's changes; empty: all of them
  Baseline baseline = Baseline::kTaken;
  KnownFailing known_failing = KnownFailing::kNone;

  const std::vector<Step>& steps_of_attempt(std::int64_t n) const;
  bool operator==(const Gate&) const = default;
};

// What agents spend, as they tell it (docs/agents.md); absent: not limited.
constexpr std::int64_t kTokensMax = 1'000'000'000'000;
struct Spending {
  std::optional<std::int64_t> tokens, usd_nanos;
  bool operator==(const Spending&) const = default;
};

// More tries than that of one goal at the same state are better spent as attempts, which learn from each
// other.
constexpr std::int64_t kBestOfMax = 8;

struct Phase {
  std::string id;  // [a-z0-9][a-z0-9._-]{0,63}
  std::string goal;
  Step agent;                       // name "run"
  Spending agent_budget;            // of one attempt
  std::int64_t max_children = 100;  // of one episode
  std::string agent_usage;          // the program whose output says what it used; "": none
  std::vector<std::string> gates;   // names of Plan::gates, in order, never empty
  std::int64_t best_of = 1;         // episodes of one attempt
  std::int64_t max_attempts = 5;
  Resume resume;
  Durable durable = Durable::kRequired;
  bool may_be_empty = false;  // an attempt that changed nothing may pass
  AgentExit agent_exit = AgentExit::kZero;

  // Whether an attempt without a change is one: where a probe looks for the effect, it is somewhere else.
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

// Before attempt n + 1 of a revision: a random part of min(max, initial * 2^(n-1)) seconds ("full jitter").
struct Backoff {
  std::int64_t initial_seconds = 0, max_seconds = 0;
  bool operator==(const Backoff&) const = default;
};

// What a run may spend; absent: not limited.
constexpr std::int64_t kBudgetSecondsMax = 1'000'000'000;  // thirty years
struct Budget {
  std::optional<std::int64_t> sandbox_seconds;
  Spending of_agents;
  bool operator==(const Budget&) const = default;
};

// Rules on what attempts change (docs/policy.md), in a file that is not the source's.
struct PolicyFile {
  std::string file;    // as written; relative to the plan's folder
  std::string blake3;  // of its content; "" where the plan does not say it yet
  Place at;            // of `policy` in the plan
  bool operator==(const PolicyFile&) const = default;
};

// What is of no phase: an executor has this of a run, and one phase at a time.
struct Common {
  std::string workflow;
  std::string source_path;                  // as written; relative to the plan's folder
  std::optional<std::string> source_ref;    // absent: the directory as it is
  std::vector<std::string> source_exclude;  // patterns of paths that no base has
  std::vector<std::string> env;
  std::vector<std::string> models;
  Ignored ignored = Ignored::kLeaveOut;
  Guarded guarded;
  std::vector<std::string> allow_shadowing;  // patterns of docs/policy.md#shadowing
  std::vector<std::string> files;            // of the plan's folder, in /plan; empty: all that may be shown
  std::vector<std::string> gate_files;       // of those, what agents do not see
  std::string plan_for_agents;               // the base that agents see at /plan; "": what gates see
  std::optional<PolicyFile> policy;
  std::optional<Doctor> doctor;
  std::optional<Replan> replan;
  Backoff backoff;
  Budget budget;
  std::map<std::string, Gate> gates;
  std::string traced;  // the first that asks for a trace, for people: "phase fix, agent"; "": nobody does

  // PAWL_MODEL of attempt `n` (from 1): models[min(n-1, last)], or "" when the plan names none.
  const std::string& model_of_attempt(std::int64_t n) const;
  bool operator==(const Common&) const = default;
};

// What an attempt of the phase may not change: by the plan, the phase and its gates.
PathRules rules_of(const Common& common, const Phase& phase);
// And what no base has, since a commit has it as the source's.
PathRules rules_on_agent(const Common& common, const Phase& phase);

struct Plan : Common {
  std::vector<Tier> tiers;  // never empty

  const Phase* find_phase(const std::string& id) const;
  bool operator==(const Plan&) const = default;
};

}  // namespace pawl::plan
