#include "store/rows.h"

#include <fmt/format.h>

#include <array>

#include "base/duration.h"
#include "base/json.h"
#include "base/money.h"

namespace pawl::store {
namespace {

template <typename T, std::size_t N>
Result<T> find_name(const std::array<T, N>& values, std::string_view text, const char* what) {
  for (const T value : values)
    if (name(value) == text) return value;
  return fail(ErrorKind::kForged, std::string("not a ") + what + ": '" + printable(std::string(text)) + "'");
}

}  // namespace

std::string_view name(PhaseState state) {
  switch (state) {
    case PhaseState::kQueued:
      return "QUEUED";
    case PhaseState::kExecuting:
      return "EXECUTING";
    case PhaseState::kComplete:
      return "COMPLETE";
    case PhaseState::kFailed:
      return "FAILED";
    case PhaseState::kSkipped:
      return "SKIPPED";
    case PhaseState::kCancelled:
      return "CANCELLED";
  }
  return "";
}

std::string_view name(PhaseOutcome outcome) {
  switch (outcome) {
    case PhaseOutcome::kNone:
      return "";
    case PhaseOutcome::kPassed:
      return "passed";
    case PhaseOutcome::kApproved:
      return "approved";
    case PhaseOutcome::kEscalate:
      return "escalate";
    case PhaseOutcome::kFailedUnrecoverable:
      return "failed_unrecoverable";
    case PhaseOutcome::kSkipped:
      return "skipped";
    case PhaseOutcome::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string_view name(AttemptVerdict verdict) {
  switch (verdict) {
    case AttemptVerdict::kUnfinished:
      return "";
    case AttemptVerdict::kPassed:
      return "passed";
    case AttemptVerdict::kFailedRetryable:
      return "failed_retryable";
    case AttemptVerdict::kFailedUnrecoverable:
      return "failed_unrecoverable";
    case AttemptVerdict::kEscalate:
      return "escalate";
    case AttemptVerdict::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string_view name(RunState state) {
  switch (state) {
    case RunState::kExecuting:
      return "EXECUTING";
    case RunState::kComplete:
      return "COMPLETE";
    case RunState::kFailed:
      return "FAILED";
    case RunState::kCancelled:
      return "CANCELLED";
  }
  return "";
}

std::string_view name(RecoveryFound found) {
  switch (found) {
    case RecoveryFound::kSupervisorAlive:
      return "supervisor_alive";
    case RecoveryFound::kResultSpooled:
      return "result_spooled";
    case RecoveryFound::kResultRefused:
      return "result_refused";
    case RecoveryFound::kNothing:
      return "nothing";
    case RecoveryFound::kOperator:
      return "operator";
    case RecoveryFound::kLimited:
      return "limited";
    case RecoveryFound::kUnauthorized:
      return "unauthorized";
  }
  return "";
}

std::string_view name(RecoveryDecision decision) {
  switch (decision) {
    case RecoveryDecision::kReattach:
      return "reattach";
    case RecoveryDecision::kAdopt:
      return "adopt";
    case RecoveryDecision::kReExecute:
      return "re_execute";
    case RecoveryDecision::kSkip:
      return "skip";
    case RecoveryDecision::kEscalate:
      return "escalate";
    case RecoveryDecision::kProbed:
      return "probed";
    case RecoveryDecision::kCancelled:
      return "cancelled";
    case RecoveryDecision::kWait:
      return "wait";
    case RecoveryDecision::kContinue:
      return "continue";
  }
  return "";
}

std::string_view name(DoctorAction action) {
  switch (action) {
    case DoctorAction::kNone:
      return "";
    case DoctorAction::kRetryWithHint:
      return "retry_with_hint";
    case DoctorAction::kReplan:
      return "replan";
    case DoctorAction::kSkipPhase:
      return "skip_phase";
    case DoctorAction::kMarkFailed:
      return "mark_failed";
    case DoctorAction::kAbortRun:
      return "abort_run";
  }
  return "";
}

std::string_view name(StepState state) {
  switch (state) {
    case StepState::kOpen:
      return "open";
    case StepState::kDone:
      return "done";
    case StepState::kLost:
      return "lost";
  }
  return "";
}

Result<PhaseState> phase_state_from_name(std::string_view text) {
  using enum PhaseState;
  return find_name(std::array{kQueued, kExecuting, kComplete, kFailed, kSkipped, kCancelled}, text,
                   "phase state");
}

Result<PhaseOutcome> phase_outcome_from_name(std::string_view text) {
  using enum PhaseOutcome;
  return find_name(
      std::array{kNone, kPassed, kApproved, kEscalate, kFailedUnrecoverable, kSkipped, kCancelled}, text,
      "phase outcome");
}

Result<AttemptVerdict> attempt_verdict_from_name(std::string_view text) {
  using enum AttemptVerdict;
  return find_name(
      std::array{kUnfinished, kPassed, kFailedRetryable, kFailedUnrecoverable, kEscalate, kCancelled}, text,
      "verdict of an attempt");
}

Result<RunState> run_state_from_name(std::string_view text) {
  using enum RunState;
  return find_name(std::array{kExecuting, kComplete, kFailed, kCancelled}, text, "run state");
}

Result<DoctorAction> doctor_action_from_name(std::string_view text) {
  using enum DoctorAction;
  return find_name(std::array{kRetryWithHint, kReplan, kSkipPhase, kMarkFailed, kAbortRun}, text,
                   "doctor's action");
}

Result<RecoveryDecision> recovery_decision_from_name(std::string_view text) {
  using enum RecoveryDecision;
  return find_name(
      std::array{kReattach, kAdopt, kReExecute, kSkip, kEscalate, kProbed, kCancelled, kWait, kContinue},
      text, "recovery decision");
}

std::string source_folder_of(const std::string& common) {
  const auto row = parse_json(common);
  return row && row->is_object() ? text_in(*row, "source_folder") : "";
}

AttemptRow judged_on(AttemptRow attempt) {
  if (attempt.joined_round == 0) return attempt;
  attempt.base_merge_seq = attempt.joined_merge_seq;
  attempt.base_has_own_tier = true;
  return attempt;
}

std::string budget_text(const BudgetRow& row) {
  const auto amount = [&](std::int64_t value) {
    if (row.unit == kSandboxMs) return seconds_text(value);
    if (row.unit == kUsdNanos) return "$" + usd_text(value);
    return std::to_string(value);
  };
  std::string text = (row.unknown > 0 ? "at least " : "") + amount(row.spent);
  if (row.cap) text += " of " + amount(*row.cap);
  text += row.unit == kSandboxMs ? " seconds in sandboxes are spent"
          : row.unit == kTokens  ? " tokens are spent"
                                 : " are spent";
  if (row.unknown > 0) text += fmt::format(" (the use of {} execution(s) is unknown)", row.unknown);
  if (row.reserved > 0) text += fmt::format(", {} reserved by steps that run", amount(row.reserved));
  return text;
}

bool is_terminal(PhaseState state) {
  switch (state) {
    case PhaseState::kQueued:
    case PhaseState::kExecuting:
      return false;
    case PhaseState::kComplete:
    case PhaseState::kFailed:
    case PhaseState::kSkipped:
    case PhaseState::kCancelled:
      return true;
  }
  return true;
}

bool has_waited(const StepRow& row) { return row.decision == name(RecoveryDecision::kWait); }

}  // namespace pawl::store
