#include "executor/recovery.h"

#include <csignal>

#include "base/mutant.h"
#include "os/process.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kItDid = 0, kItDidNot = 1;  // exit codes of a probe

// Mutants (base/mutant.h).
bool crash_loops_go_on() { return mutant("crash_loop_without_end"); }
bool reattaches() { return !mutant("running_steps_abandoned"); }
bool adopts() { return !mutant("results_not_adopted"); }

Recovery once_more(std::int64_t execution) {
  if (crash_loops_go_on()) return Recovery::kReExecute;
  return execution >= store::kExecutionsPerStepMax ? Recovery::kCrashLoop : Recovery::kReExecute;
}

Recovery decide_lost(plan::ResumePolicy policy, std::int64_t execution) {
  switch (policy) {
    case plan::ResumePolicy::kReExecute:
      return once_more(execution);
    case plan::ResumePolicy::kContinue: {
      const auto next = once_more(execution);
      return next == Recovery::kReExecute ? Recovery::kContinue : next;
    }
    case plan::ResumePolicy::kProbe:
      return Recovery::kProbe;
    case plan::ResumePolicy::kSkip:
      return Recovery::kSkip;
    case plan::ResumePolicy::kEscalate:
      return Recovery::kEscalate;
  }
  return Recovery::kEscalate;
}

}  // namespace

plan::ResumePolicy policy_of(StepRole role, const plan::Phase& phase) {
  return role == StepRole::kAgent ? phase.resume.policy : plan::ResumePolicy::kReExecute;
}

Recovery decide_recovery(supervisor::Found found, plan::ResumePolicy policy, std::int64_t execution) {
  switch (found) {
    case supervisor::Found::kRunning:
      if (reattaches()) return Recovery::kReattach;
      break;
    case supervisor::Found::kSpooled:
      if (adopts()) return Recovery::kAdopt;
      break;
    case supervisor::Found::kNothing:
      break;
  }
  return decide_lost(policy, execution);
}

bool was_killed(const sandbox::SandboxRun& run) {
  constexpr std::int64_t kKilledInShell = 128 + SIGKILL;  // POSIX, 2.8.2, and the practice of all shells
  const bool signaled =
      run.outcome == sandbox::Outcome::kSignaled && run.reason.empty() && run.signal == SIGKILL;
  return signaled || (run.outcome == sandbox::Outcome::kExited && run.exit_code == kKilledInShell);
}

bool may_continue(const sandbox::SandboxRun& run, const PlannedStep& step, const plan::Phase& phase,
                  std::int64_t execution) {
  const bool signaled = run.outcome == sandbox::Outcome::kSignaled || was_killed(run);
  return signaled && step.role == StepRole::kAgent && runs_again(phase) &&
         execution < store::kExecutionsPerStepMax;
}

bool was_stopped_unsaved(const sandbox::SandboxRun& run, const plan::Phase& phase) {
  return run.unsaved > 0 && run.outcome == sandbox::Outcome::kSignaled &&
         phase.durable == plan::Durable::kRequired;
}

bool continues(const Ended& ended) {
  return ended.has_state && (ended.killed || ended.budget_is_spent || ended.stopped_unsaved);
}

bool may_lack_session(const sandbox::SandboxRun& run, const plan::Phase& phase,
                      const std::optional<std::string>& goes_on_from) {
  const bool failed = run.outcome == sandbox::Outcome::kExited && run.exit_code != 0;
  return failed && !phase.agent_continue.empty() && goes_on_from && run.layer == *goes_on_from;
}

bool of_one_boot(std::string_view owner, std::string_view other) {
  const auto a = os::parse_identity(owner), b = os::parse_identity(other);
  return a && b && a->boot_id != os::kNoBoot && a->boot_id == b->boot_id;
}

std::optional<std::int64_t> answer_of(const supervisor::Salvage& salvaged, bool same_boot) {
  if (salvaged.began) return salvaged.exit_code;
  return same_boot ? std::optional(kItDidNot) : std::nullopt;
}

Recovery after_probe(std::optional<std::int64_t> exit_code, std::int64_t execution) {
  if (exit_code == kItDid) return Recovery::kProbed;
  return exit_code == kItDidNot ? once_more(execution) : Recovery::kEscalate;
}

supervisor::KeptWork kept_by(supervisor::KeptWork found, const std::optional<std::string>& before,
                             bool same_boot) {
  if (found.began) return found;
  if (!same_boot) return {.began = false, .layer = {}, .missing = "restart"};
  if (!before) return {.began = false, .layer = {}, .missing = "workspace"};
  return {.began = false, .layer = before, .missing = {}};
}

Recovery after_keeping(const supervisor::KeptWork& kept) {
  return kept.layer ? Recovery::kContinue : Recovery::kReExecute;
}

Recovery after_refusal(const std::optional<store::Wait>& wait) {
  return wait ? Recovery::kWait : Recovery::kEscalate;
}

bool runs_again(const plan::Phase& phase) {
  return phase.resume.policy == plan::ResumePolicy::kReExecute ||
         phase.resume.policy == plan::ResumePolicy::kContinue;
}

bool ends_episode(Recovery recovery) {
  return recovery == Recovery::kSkip || recovery == Recovery::kCrashLoop || recovery == Recovery::kEscalate;
}

std::string_view name(LostOutcome outcome) {
  switch (outcome) {
    case LostOutcome::kLost:
      return "lost";
    case LostOutcome::kCrashLoop:
      return "crash_loop";
    case LostOutcome::kLimited:
      return name(store::RecoveryFound::kLimited);
    case LostOutcome::kUnauthorized:
      return name(store::RecoveryFound::kUnauthorized);
  }
  return "";
}

LostStep lost_by(Recovery recovery, store::RecoveryFound found, const std::string& gate_id) {
  using Found = store::RecoveryFound;
  auto outcome = recovery == Recovery::kCrashLoop ? LostOutcome::kCrashLoop : LostOutcome::kLost;
  if (found == Found::kLimited) outcome = LostOutcome::kLimited;
  if (found == Found::kUnauthorized) outcome = LostOutcome::kUnauthorized;
  return {.gate_id = gate_id, .outcome = outcome, .escalate = recovery == Recovery::kEscalate};
}

store::RecoveryDecision decision_of(Recovery recovery) {
  using Decision = store::RecoveryDecision;
  switch (recovery) {
    case Recovery::kReattach:
      return Decision::kReattach;
    case Recovery::kAdopt:
      return Decision::kAdopt;
    case Recovery::kReExecute:
      return Decision::kReExecute;
    case Recovery::kSkip:
    case Recovery::kCrashLoop:
      return Decision::kSkip;
    case Recovery::kEscalate:
      return Decision::kEscalate;
    case Recovery::kCancelled:
      return Decision::kCancelled;
    case Recovery::kProbed:
      return Decision::kProbed;
    case Recovery::kWait:
      return Decision::kWait;
    case Recovery::kContinue:
      return Decision::kContinue;
    case Recovery::kProbe:
      break;
  }
  PAWL_CHECK(recovery != Recovery::kProbe);
  return Decision::kEscalate;
}

store::RecoveryFound found_without_result(const Error& error) {
  return error.kind == ErrorKind::kForged ? store::RecoveryFound::kResultRefused
                                          : store::RecoveryFound::kNothing;
}

std::optional<Recovery> recorded_recovery(std::string_view decision, std::int64_t execution) {
  using Decision = store::RecoveryDecision;
  const auto known = store::recovery_decision_from_name(decision);
  if (!known) return std::nullopt;
  switch (*known) {
    case Decision::kReattach:
      return Recovery::kReattach;
    case Decision::kAdopt:
      return Recovery::kAdopt;
    case Decision::kReExecute:
      return Recovery::kReExecute;
    case Decision::kSkip:  // also the word of a crash loop
      return execution >= store::kExecutionsPerStepMax ? Recovery::kCrashLoop : Recovery::kSkip;
    case Decision::kEscalate:
      return Recovery::kEscalate;
    case Decision::kProbed:
      return Recovery::kProbed;
    case Decision::kCancelled:
      return Recovery::kCancelled;
    case Decision::kWait:
      return Recovery::kWait;
    case Decision::kContinue:
      return Recovery::kContinue;
  }
  return std::nullopt;
}

}  // namespace pawl::executor
