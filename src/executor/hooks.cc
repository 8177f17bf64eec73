#include "executor/hooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kReasonBytesMax = 500, kHintBytesMax = 4096, kGoalBytesMax = 16 << 10;

// A string field of the response. "" when it is absent. No value when it has another type, is too long, or
// could not be an environment's value.
std::optional<std::string> word_in(const Json& answer, const char* key, std::size_t bytes_max) {
  const auto found = answer.find(key);
  if (found == answer.end()) return "";
  if (!found->is_string()) return std::nullopt;
  auto text = found->get<std::string>();
  if (text.size() > bytes_max || text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::int64_t calls_left(const HookFacts& facts) {
  return std::max<std::int64_t>(0, std::min(store::kDoctorCallsOfPhaseMax - facts.claim.phase.doctor_calls,
                                            store::kDoctorCallsOfRunMax - facts.claim.run.doctor_calls));
}

// A mutant (base/mutant.h).
bool replans_without_end() { return mutant("replans_without_end"); }

std::int64_t replans_left(const HookFacts& facts) {
  if (!facts.plan.replan) return 0;
  if (replans_without_end()) return 1;
  return std::max<std::int64_t>(0, facts.plan.replan->max_replans - facts.claim.phase.replans);
}

bool said(const std::optional<store::Advice>& advice, store::DoctorAction action) {
  return advice && advice->understood && advice->action == action;
}

// Whether only another approach can still help.
bool wants_replan(const HookFacts& facts) {
  if (said(facts.doctor, store::DoctorAction::kReplan)) return true;
  const bool decided =
      facts.doctor && facts.doctor->understood && facts.doctor->action != store::DoctorAction::kRetryWithHint;
  return facts.verdict.approach_failed && !decided;
}

}  // namespace

store::Counted counted(StepRole role) {
  if (role == StepRole::kDoctor) return store::Counted::kDoctorCall;
  return role == StepRole::kReplan ? store::Counted::kReplan : store::Counted::kNothing;
}

std::vector<std::string> hook_command(const std::vector<std::string>& argv) {
  std::vector<std::string> out{"sh", "-c", R"(exec "$@" </pawl/question.json >)" + kAnswerFile, "pawl"};
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

store::Advice doctor_advice(const std::string& sandbox_run_id, std::string_view answer) {
  store::Advice out{.hook = std::string(kDoctorGate), .sandbox_run_id = sandbox_run_id};
  const auto json = parse_json(answer);
  if (!json || !json->is_object()) return out;
  const auto word = word_in(*json, "action", kReasonBytesMax);
  auto reason = word_in(*json, "reason", kReasonBytesMax);
  auto hint = word_in(*json, "hint", kHintBytesMax);
  if (!word || !reason || !hint) return out;
  const auto action = store::doctor_action_from_name(*word);
  if (!action || (*action == store::DoctorAction::kRetryWithHint && hint->empty())) return out;
  out.understood = true;
  out.action = *action;
  out.reason = one_line(*std::move(reason));
  out.hint = *std::move(hint);
  return out;
}

store::Advice replan_advice(const std::string& sandbox_run_id, std::string_view answer) {
  store::Advice out{.hook = std::string(kReplanGate), .sandbox_run_id = sandbox_run_id};
  const auto json = parse_json(answer);
  if (!json || !json->is_object()) return out;
  auto goal = word_in(*json, "goal", kGoalBytesMax);
  auto reason = word_in(*json, "reason", kReasonBytesMax);
  if (!goal || goal->empty() || !reason) return out;
  out.understood = true;
  out.goal = *std::move(goal);
  out.reason = one_line(*std::move(reason));
  return out;
}

std::optional<StepRole> hook_due(const HookFacts& facts) {
  if (facts.verdict.kind == gates::Verdict::Kind::kPassed || facts.backend_error) return std::nullopt;
  if (facts.plan.doctor && !facts.doctor && facts.failures >= facts.plan.doctor->after_failures &&
      calls_left(facts) > 0)
    return StepRole::kDoctor;
  if (!facts.replan && replans_left(facts) > 0 && wants_replan(facts)) return StepRole::kReplan;
  return std::nullopt;
}

Consequence consequence_of(const HookFacts& facts) {
  Consequence out;
  if (facts.verdict.kind == gates::Verdict::Kind::kPassed) return out;
  if (facts.replan && facts.replan->understood) {
    out.action = store::Action::kReplan;
    out.goal = facts.replan->goal;
    out.reason = facts.replan->reason.empty() ? "replanned" : "replanned: " + facts.replan->reason;
    return out;
  }
  if (!facts.doctor || !facts.doctor->understood) return out;
  const auto& advice = *facts.doctor;
  if (said(advice, store::DoctorAction::kRetryWithHint)) out.hint = advice.hint;
  if (said(advice, store::DoctorAction::kSkipPhase)) out.action = store::Action::kSkipPhase;
  if (said(advice, store::DoctorAction::kMarkFailed)) out.action = store::Action::kMarkFailed;
  if (said(advice, store::DoctorAction::kAbortRun)) out.action = store::Action::kAbortRun;
  if (out.action != store::Action::kNone)
    out.reason =
        fmt::format("doctor: {}{}", name(advice.action), advice.reason.empty() ? "" : ": " + advice.reason);
  return out;
}

Json hook_question(const HookFacts& facts, const plan::Phase& phase,
                   const std::vector<store::AttemptRow>& attempts, const std::vector<std::string>& evidence,
                   const std::vector<store::BudgetRow>& budgets) {
  const auto& claim = facts.claim;
  Json list = Json::array();
  const auto add = [&list](const store::AttemptRow& attempt, const std::string& verdict,
                           const std::vector<std::string>& failing, const std::string& summary) {
    list.push_back({{"attempt", attempt.number},
                    {"revision", attempt.revision},
                    {"model", attempt.model},
                    {"verdict", verdict},
                    {"failing_signals", failing},
                    {"summary", summary}});
  };
  for (const auto& attempt : attempts)
    if (attempt.finished)
      add(attempt, std::string(name(attempt.verdict)), attempt.failing_signals, attempt.summary);
  add(claim.attempt, std::string(gates::name(facts.verdict.kind)), facts.verdict.failing_signals,
      facts.verdict.summary);
  Json budget = Json::object();
  for (const auto& row : budgets)
    budget[row.unit] = {{"spent", row.spent}, {"cap", row.cap ? Json(*row.cap) : Json()}};
  return {{"run_id", claim.run.run_id},
          {"phase_id", phase.id},
          {"goal", claim.revised_goal.empty() ? phase.goal : claim.revised_goal},
          {"original_goal", phase.goal},
          {"revision", claim.phase.revision},
          {"attempts_used", claim.phase.attempts_used},
          {"max_attempts", claim.phase.max_attempts},
          {"replans_left", replans_left(facts)},
          {"attempts", std::move(list)},
          {"evidence", evidence},
          {"budget", std::move(budget)}};
}

}  // namespace pawl::executor
