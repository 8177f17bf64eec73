#include "store/transition.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/mutant.h"
#include "store/store.h"

namespace pawl::store {
namespace {

// Mutants (base/mutant.h).
bool approves_as_passed() { return mutant("approved_as_passed"); }
bool approves_only_escalated() { return mutant("only_escalated_is_approved"); }
bool trusts_the_wall_clock() { return mutant("lease_by_wall_clock"); }

using enum PhaseState;
using enum PhaseEvent;

struct Rule {
  PhaseEvent event;
  std::array<bool, 6> from;  // QUEUED, EXECUTING, COMPLETE, FAILED, SKIPPED, CANCELLED
  Transition to;
  std::string_view word;
};

// The table. kAttemptRetryable is the only event whose target depends on a counter; see apply().
constexpr std::array<Rule, 13> kRules = {{
    {kClaim, {true, true, false, false, false, false}, {kExecuting, PhaseOutcome::kNone}, "claim"},
    {kAttemptPassed, {false, true, false, false, false, false}, {kComplete, PhaseOutcome::kPassed}, "pass"},
    {kAttemptRetryable, {false, true, false, false, false, false}, {kExecuting, PhaseOutcome::kNone}, "fail"},
    {kAttemptUnrecoverable,
     {false, true, false, false, false, false},
     {kFailed, PhaseOutcome::kFailedUnrecoverable},
     "fail for good"},
    {kAttemptEscalate,
     {false, true, false, false, false, false},
     {kFailed, PhaseOutcome::kEscalate},
     "escalate"},
    {kReplanned, {false, true, false, false, false, false}, {kExecuting, PhaseOutcome::kNone}, "replan"},
    {kDoctorSkip, {false, true, false, false, false, false}, {kSkipped, PhaseOutcome::kSkipped}, "skip"},
    {kRunAborted, {true, true, false, false, false, false}, {kCancelled, PhaseOutcome::kCancelled}, "abort"},
    {kTierStopped, {true, false, false, false, false, false}, {kSkipped, PhaseOutcome::kSkipped}, "stop"},
    {kOperatorRetry, {false, false, false, true, true, true}, {kQueued, PhaseOutcome::kNone}, "retry"},
    {kOperatorSkip, {true, true, false, true, false, false}, {kSkipped, PhaseOutcome::kSkipped}, "skip"},
    {kOperatorCancel,
     {true, true, false, false, false, false},
     {kCancelled, PhaseOutcome::kCancelled},
     "cancel"},
    {kOperatorApprove,
     {false, false, false, true, true, true},
     {kComplete, PhaseOutcome::kApproved},
     "approve"},
}};

}  // namespace

Result<Transition> apply(const PhaseRow& phase, PhaseEvent event) {
  const auto* rule = std::ranges::find(kRules, event, &Rule::event);
  PAWL_CHECK(rule != kRules.end());
  if (!rule->from[static_cast<std::size_t>(phase.state)]) {
    return fail(ErrorKind::kInvalid, "phase " + phase.phase_id + " is " + std::string(name(phase.state)) +
                                         ": this state does not allow to " + std::string(rule->word) + " it");
  }
  if (event == kOperatorApprove && approves_as_passed()) return Transition{kComplete, PhaseOutcome::kPassed};
  if (event == kOperatorApprove && phase.outcome != PhaseOutcome::kEscalate && approves_only_escalated())
    return fail(ErrorKind::kInvalid, "phase " + phase.phase_id + " was not escalated");
  if (event == kAttemptRetryable && phase.attempts_used >= phase.max_attempts)
    return Transition{kFailed, PhaseOutcome::kEscalate};
  return rule->to;
}

RunState run_state_of(const std::vector<PhaseRow>& phases) {
  PAWL_CHECK(std::ranges::all_of(phases, [](const auto& phase) { return is_terminal(phase.state); }));
  const auto any = [&](PhaseState state) {
    return std::ranges::find(phases, state, &PhaseRow::state) != phases.end();
  };
  if (any(kFailed)) return RunState::kFailed;
  return any(kCancelled) ? RunState::kCancelled : RunState::kComplete;
}

bool lease_is_live(const PhaseRow& phase, const ClaimRequest& request) {
  if (phase.lease_owner.empty()) return false;
  const bool same_clock = !request.mono_id.empty() && phase.lease_mono_id == request.mono_id;
  const bool over = same_clock && !trusts_the_wall_clock() ? phase.lease_until_mono <= request.mono.micros
                                                           : phase.lease_expires_at <= rfc3339(request.now);
  return !over && (!request.owner_is_dead || !request.owner_is_dead(phase.lease_owner));
}

}  // namespace pawl::store
