// The judging half of Attempt: facts into a verdict, a verdict into the row that ends the attempt.
#include <fmt/format.h>

#include <algorithm>

#include "executor/attempt.h"
#include "executor/context.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kPathsNamedMax = 10;  // enough to see what was touched; the diff has the rest

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > most) out += fmt::format(", and {} more", words.size() - most);
  return out;
}

gates::Signal agent_signal(const sandbox::SandboxRun& run) {
  return {.kind = "agent",
          .gate_id = std::string(kAgentGate),
          .passed = succeeded(run),
          .details = {{"outcome", sandbox::name(run.outcome)}, {"exit_code", run.exit_code}}};
}

gates::Signal protect_signal(const std::vector<std::string>& changes) {
  return {
      .kind = "policy",
      .gate_id = "protect",
      .passed = changes.empty(),
      .details = {{"protected_paths_changed", changes.size()}, {"paths", joined(changes, kPathsNamedMax)}}};
}

gates::Signal lost_signal(const LostStep& lost) {
  const bool agent = lost.gate_id == kAgentGate;
  return {.kind = agent ? "agent" : "build",
          .gate_id = lost.gate_id,
          .passed = false,
          .missing = lost.escalate,
          .details = {{"outcome", lost.outcome}}};
}

}  // namespace

Result<gates::AttemptFacts> Attempt::attempt_facts(const std::vector<gates::Signal>& extra,
                                                   const std::optional<LostStep>& lost) const {
  gates::AttemptFacts facts;
  facts.attempts_used = claim_->phase.attempts_used;
  facts.max_attempts = claim_->phase.max_attempts;
  if (const auto agent = results_.find(0); agent != results_.end())
    facts.signals.push_back(agent_signal(agent->second));
  if (agent_seen_ && !plan_->protect.empty()) facts.signals.push_back(protect_signal(protected_changes_));
  for (const auto& name : phase_->gates) {
    const auto signals = gate_signals_.find(name);
    if (signals == gate_signals_.end()) continue;
    std::ranges::copy(signals->second, std::back_inserter(facts.signals));
    if (gate_passed_.at(name)) continue;
    const plan::RetryPolicy& retry = plan_->gates.at(name).retry;
    facts.non_retryable = retry.non_retryable;
    facts.timeout_retryable = retry.timeout_retryable;
    facts.oom_retryable = retry.oom_retryable;
  }
  std::ranges::copy(extra, std::back_inserter(facts.signals));
  if (lost) facts.signals.push_back(lost_signal(*lost));
  for (const auto& step : steps_) {
    const auto run = results_.find(step.index);
    if (run == results_.end() || step.role == StepRole::kBaseline) continue;
    facts.steps.push_back(facts_of(step, run->second));
    facts.step_labels.push_back(label_of(phase_->id, step, claim_->attempt.number));
    facts.backend_error = facts.backend_error || run->second.outcome == sandbox::Outcome::kSetupFailed;
  }
  PAWL_TRY(const auto attempts, world_.store.attempts(claim_->run.run_id, phase_->id));
  for (auto row = attempts.rbegin(); row != attempts.rend(); ++row)
    if (row->finished && row->revision == claim_->attempt.revision && row->verdict != "cancelled")
      facts.earlier_failures.push_back(row->failing_signals);
  return facts;
}

Result<store::AttemptEnd> Attempt::judge(const std::vector<gates::Signal>& extra,
                                         const std::optional<LostStep>& lost) {
  PAWL_TRY(const auto facts, attempt_facts(extra, lost));
  const auto verdict = gates::decide(facts);
  store::AttemptEnd end;
  end.verdict = verdict.verdict;
  end.signals = Json::array();
  for (const auto& signal : facts.signals) end.signals.push_back(gates::to_json(signal));
  end.failing_signals = verdict.failing_signals;
  end.summary = verdict.summary;
  end.reason = verdict.reason;
  end.build = PAWL_VERSION;
  if (verdict.verdict == "passed") {
    end.accepted_layer = gate_layer_;
  } else {
    std::vector<std::string> evidence;
    if (const auto agent = results_.find(0); agent != results_.end() && !agent->second.layer.empty())
      evidence.push_back(kPatchInside);
    for (const auto& step : steps_) {
      const auto run = results_.find(step.index);
      if (run == results_.end() || step.role == StepRole::kBaseline || run->second.logs.empty()) continue;
      evidence.push_back(log_inside(label_of(phase_->id, step, claim_->attempt.number)));
    }
    end.feedback = gates::feedback_of(verdict, claim_->attempt.number, evidence);
  }
  return end;
}

}  // namespace pawl::executor
