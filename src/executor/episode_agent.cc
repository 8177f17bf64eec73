// The start of an episode's agent: its variables, and what it goes on from.
#include <algorithm>
#include <iterator>

#include "base/mutant.h"
#include "executor/episode.h"
#include "executor/reported.h"
#include "sandbox/inside.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

// Stands for the program in a specification's hash: its bytes differ with Pawl's version, and the work does not.
constexpr std::string_view kAcpContent = "pawl-acp";

// Mutants (base/mutant.h).
bool forgets_work() { return mutant("continued_without_the_work"); }
bool forgets_rows() { return mutant("kept_work_forgotten_by_a_claim"); }

}  // namespace

// Finds the work that the agent's newest lost execution left, or that the first one began on. An execution after that may
// have begun anew. Executions are sorted.
void Episode::find_kept_work() {
  if (forgets_rows()) return;
  for (const auto& row : claim_->steps) {
    if (row.step_index != agent().index) continue;
    const auto kept = claim_->kept.find(row.sandbox_run_id);
    const bool is_later = row.state != store::StepState::kLost && row.execution > 1;
    if (is_later && (kept == claim_->kept.end() || kept->second)) continue;
    goes_on_from_ = kept == claim_->kept.end() ? std::nullopt : kept->second;
  }
}

std::string Episode::own_layer_of(const PlannedStep& step) const {
  if (step.role != StepRole::kAgent || forgets_work()) return {};
  return goes_on_from_.value_or("");
}

void Episode::add_agent(bool with_feedback, sandbox::SandboxSpec& to) const {
  std::ranges::copy(agent_environment(with_feedback), std::back_inserter(to.env));
  // The supervisor fills in `src`.
  if (phase_->agent_acp)
    to.copy_in.push_back(
        {.src = "", .dst = sandbox::inside::kAcpClient, .content = std::string(kAcpContent)});
  if (number_ > 0) to.env.push_back("PAWL_EPISODE=" + std::to_string(number_));
  if (!goes_on_from_) return;
  to.workspace.own_layer = own_layer_of(agent());
  to.env.emplace_back(goes_on_after_failure_ ? "PAWL_CONTINUES=retry" : "PAWL_CONTINUES=1");
  if (!phase_->agent_continue.empty()) to.cmd = phase_->agent_continue;
}

std::vector<std::string> Episode::agent_environment(bool with_feedback) const {
  return {
      "PAWL_RUN_ID=" + claim_->run.run_id,
      "PAWL_PHASE_ID=" + claim_->phase.phase_id,
      "PAWL_ATTEMPT=" + std::to_string(claim_->attempt.number),
      "PAWL_MODEL=" + claim_->attempt.model,
      "PAWL_GOAL=" + (claim_->revised_goal.empty() ? phase_->goal : claim_->revised_goal),
      "PAWL_ORIGINAL_GOAL=" + phase_->goal,
      "PAWL_GOAL_ID=" + claim_->phase.phase_id,
      // A resumed attempt keeps its episode; a new attempt opens a new one.
      "PAWL_EPISODE_ID=" + episode_of(*claim_, number_).episode_id,
      std::string("PAWL_SOCKET=") + sandbox::inside::kPawl + "/" + std::string(supervisor::kAgentSocket),
      std::string("PAWL_FEEDBACK=") + (with_feedback ? "/pawl/feedback.json" : ""),
  };
}

}  // namespace pawl::executor
