// The doctor and the replanner: when they are asked, what they are told, and what an answer means. Pure.
//
// A hook runs in a sandbox under a marker like any step, after the gates of a failed attempt and before its
// end. Its call is counted with the marker (store::Counted), so that no crash gives one for nothing. It reads
// JSON on stdin and answers with JSON on stdout; docs/plan-format.md has both. What it answers is believed no
// further than its limits: an answer that is not understood counts as a call and changes nothing.
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

// Relative to the workspace, which is the run's without what the agent of this attempt did.
inline const std::string kAnswerFile = ".pawl-answer.json";
constexpr std::uint64_t kAnswerBytesMax = 64 << 10;

// The command that connects a hook to its question and its answer.
std::vector<std::string> hook_command(const std::vector<std::string>& argv);

store::Advice doctor_advice(const std::string& sandbox_run_id, std::string_view answer);
store::Advice replan_advice(const std::string& sandbox_run_id, std::string_view answer);

struct HookFacts {
  const plan::Common& plan;
  const store::Claim& claim;
  const gates::Verdict& verdict;                // of this attempt
  bool backend_error = false;                   // the sandbox's or a gate's fault: nobody is asked
  std::int64_t failures = 1;                    // attempts of this revision that failed, with this one
  std::optional<store::Advice> doctor, replan;  // the answers of this attempt, as far as they are there
};

// As what the first marker of a step with this role is counted.
store::Counted counted(StepRole role);

// Which hook is to be asked next: kDoctor, kReplan, or nothing.
std::optional<StepRole> hook_due(const HookFacts& facts);

// What the answers come to.
struct Consequence {
  store::Action action = store::Action::kNone;
  std::string goal;    // of kReplan
  std::string hint;    // of retry_with_hint, for the next agent
  std::string reason;  // of another action than kNone
};
Consequence consequence_of(const HookFacts& facts);

// What a hook reads. `attempts`: those of the phase that are over; this one is in the verdict.
Json hook_question(const HookFacts& facts, const plan::Phase& phase,
                   const std::vector<store::AttemptRow>& attempts, const std::vector<std::string>& evidence,
                   const std::vector<store::BudgetRow>& budgets);

}  // namespace pawl::executor
