// The doctor and the replanner: the time of a call, its input, and the meaning of its response. Pure functions.
//
// A hook runs in a sandbox under a marker like any step, after the gates of a failed attempt and before its
// end. The marker also counts the call (store::Counted), so a crash gives no free call. A hook reads JSON on
// stdin and responds with JSON on stdout; docs/plan-format.md defines both. A response is trusted only within
// its limits. A response that is not understood counts as a call and has no other effect.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "executor/steps.h"
#include "gates/gates.h"
#include "plan/plan.h"
#include "store/store.h"

namespace pawl::executor {

// Relative to the workspace, which is the run's without the work of this attempt's agent.
inline const std::string kAnswerFile = ".pawl-answer.json";
constexpr std::uint64_t kAnswerBytesMax = 64 << 10;

// The command that connects a hook to its question and its response.
std::vector<std::string> hook_command(const std::vector<std::string>& argv);

// Parses a response. `understood` is false when the response is not valid or is beyond its limits.
store::Advice doctor_advice(const std::string& sandbox_run_id, std::string_view answer);
store::Advice replan_advice(const std::string& sandbox_run_id, std::string_view answer);

struct HookFacts {
  const plan::Common& plan;
  const store::Claim& claim;
  const gates::Verdict& verdict;                // the verdict of this attempt
  bool backend_error = false;                   // the sandbox or a gate is at fault: no hook is called
  std::int64_t failures = 1;                    // failed attempts of this revision, including this one
  std::optional<store::Advice> doctor, replan;  // the responses in this attempt so far
};

// How the first marker of a step with this role is counted.
store::Counted counted(StepRole role);

// The hook to call next: kDoctor, kReplan, or no value when no hook is due.
std::optional<StepRole> hook_due(const HookFacts& facts);

// The effect of the responses on the attempt.
struct Consequence {
  store::Action action = store::Action::kNone;
  std::string goal;    // set with kReplan
  std::string hint;    // set with retry_with_hint, for the next agent
  std::string reason;  // set with an action other than kNone
};
Consequence consequence_of(const HookFacts& facts);

// The question that a hook reads. `attempts`: all attempts of the phase; only finished ones are used, since
// this attempt is in the verdict.
Json hook_question(const HookFacts& facts, const plan::Phase& phase,
                   const std::vector<store::AttemptRow>& attempts, const std::vector<std::string>& evidence,
                   const std::vector<store::BudgetRow>& budgets);

}  // namespace pawl::executor
