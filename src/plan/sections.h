// Readers for the parts of a plan: sandbox limits, steps, gates, tiers. Each reads one mapping and adds its
// problems. Internal to this room.
#pragma once

#include <set>
#include <string>

#include "plan/plan.h"
#include "plan/profile.h"
#include "plan/reader.h"

namespace pawl::plan {

constexpr std::int64_t kMaxAttemptsMax = 100;
constexpr std::int64_t kGateSecondsMax = 600;      // ten minutes
constexpr std::int64_t kAgentSecondsMax = 86'400;  // a day
constexpr std::size_t kPhasesMax = 100'000, kGatesMax = 1'000, kStepsMax = 100;

struct Defaults {         // from the top of the plan, for every phase
  Limits limits;          // for gates
  Limits program_limits;  // for agents, the doctor and the replanner
  std::int64_t max_attempts = 5;
  std::optional<Resume> resume;  // no value: the plan does not say it
  OnRetry on_retry = OnRetry::kFresh;
  Durable durable = Durable::kRequired;
  RetryPolicy retry;
  bool host_has_bash = true;  // from Surroundings of parse.h, not from the plan
};

// Reads the sandbox keys of `mapping` over `limits`. `seconds_max` bounds time_budget_seconds.
void read_limits(const Mapping& mapping, std::int64_t seconds_max, Limits& limits, Problems& problems);
std::optional<Resume> read_resume(const Mapping& mapping, Problems& problems);
// Overwrites `value` when the key `on_retry` is present and valid.
void read_on_retry(const Mapping& mapping, OnRetry& value, Problems& problems);
// Overwrites `value` when the key is present and valid.
void read_number(const Mapping& mapping, const std::string& key, Range range, std::int64_t& value,
                 Problems& problems);
// Overwrites what the key `retry` says.
void read_retry(const Mapping& mapping, RetryPolicy& retry, Problems& problems);
// Reads the common part of agents and hooks: run, limits, network. The step's name is "run".
Step read_program(const Mapping& mapping, const Defaults& defaults, Problems& problems);
// Adds a problem for each entry of `egress` that base/endpoint.h can't read. `node`: where they stand.
void check_egress(const YAML::Node& node, const std::vector<std::string>& entries, Problems& problems);
// Reads network, egress and trace. `own`: entries of `egress` that the step has unless the plan says
// `network: none`.
void read_network(const Mapping& mapping, const std::vector<std::string>& own, Step& step,
                  Problems& problems);
// Reads protect and protect_existing: patterns of paths, or {pattern, may_be_absent}.
void read_guarded(const Mapping& mapping, Guarded& guarded, Problems& problems);
// Returns the patterns under `key` when it is present. Each must be safe; `where` names the folder in
// messages.
std::vector<std::string> read_patterns(const Mapping& mapping, const std::string& key,
                                       const std::string& where, Problems& problems);
// Reads `env`: names of variables that pass, and variables with a value in the plan.
void read_env(const Mapping& top, Common& plan, Problems& problems);
// Adds a problem unless `word` is the name of a program in PATH, or an absolute path. `at`: where it stands.
void check_program_name(const YAML::Node& at, const std::string& key, const std::string& word,
                        Problems& problems);
// Reads `mounts`. Only the host knows whether such a path may be shown (executor/from_host.h).
void read_mounts(const Mapping& top, Common& plan, Problems& problems);
// Reads `credentials` of an agent. `plan` has its `env` already.
void read_credentials(const Mapping& agent, const Common& plan, Phase& phase, Problems& problems);
// Reads the keys usd and tokens of a budget.
void read_spending(const Mapping& budget, Spending& out, Problems& problems);
Gate read_gate(const YAML::Node& node, const std::string& name, const Defaults& defaults, Problems& problems);

// The profiles that a plan uses; each is read once.
class Profiles {
 public:
  explicit Profiles(const Surroundings& around) : around_(around) {}
  // Returns null when the plan can't have it. Adds the problem then, at `use`; those of the profile once, at
  // their place in its file.
  const Profile* find(const YAML::Node& use, Problems& problems);
  std::map<std::string, std::string> take_texts() { return std::move(texts_); }  // by name

 private:
  void read(const std::string& name, const YAML::Node& use, Problems& problems);

  const Surroundings& around_;
  std::map<std::string, std::optional<Profile>> profiles_;
  std::map<std::string, std::string> texts_;
};

struct PhaseContext {
  const Common& plan;  // with its gates
  const Defaults& defaults;
  Profiles& profiles;
  std::map<std::string, WantedKey>& wanted_keys;  // the plan's
  std::set<std::string> ids;                      // seen so far
  std::set<std::string> used_gates;               // gates that some phase uses
  std::size_t phases = 0;
};
// Reads the agent of a phase whose goal is known: a command, or a program with a profile.
void read_agent(const Mapping& mapping, PhaseContext& context, Phase& phase, Problems& problems);
Tier read_tier(const YAML::Node& node, std::size_t number, PhaseContext& context, Problems& problems);

bool is_phase_id(const std::string& text);  // [a-z0-9][a-z0-9._-]{0,63}
// Says why a plan or a profile may not set a variable of this name: Pawl sets PATH and PAWL_... itself. "": it
// may.
std::string fault_of_own_variable(const std::string& name);
// A safe pattern stays inside the workspace: relative, no "..", no control characters, at most 1024 bytes.
bool is_safe_pattern(const std::string& text);

}  // namespace pawl::plan
