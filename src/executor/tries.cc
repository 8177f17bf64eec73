#include "executor/tries.h"

#include <algorithm>

#include "base/planted.h"
#include "executor/told.h"

namespace pawl::executor {

Running found_at_claim(const PlannedStep& step, const store::StepRow& row) {
  return {.step = &step,
          .start = {.sandbox_run_id = row.sandbox_run_id,
                    .step_index = row.step_index,
                    .gate_id = row.gate_id,
                    .step_name = row.step_name,
                    .label = row.label,
                    .sandbox_spec_hash = row.sandbox_spec_hash,
                    .execution = row.execution,
                    .episode = row.episode},
          .found = true};
}

Result<Tries> Tries::load(const World& world, const store::Claim& claim, const Planned& plan) {
  Tries out(claim);
  for (const auto episode : episodes_of(plan.phase)) {
    PAWL_TRY(auto attempt, Attempt::load(world, claim, plan, episode));
    out.tries_.push_back(
        {.attempt = std::move(attempt), .told_seq = episode == 0 ? claim.attempt.told_seq : 0});
  }
  for (const auto& row : claim.steps)
    if (row.state == store::StepState::kOpen && row.step_index < kRoundStride &&
        out.tries_.front().attempt.step_at(row.step_index) == nullptr &&
        std::ranges::none_of(out.tries_, [&](const Try& one) { return one.attempt.step_at(row.step_index); }))
      return fail(ErrorKind::kCorrupt, row.label + " is not a step of its plan");
  out.find_open_steps();
  out.remember_lost();
  return out;
}

// Only markers of agents and gates: the episode of a hook's marker is known at the end of the episodes.
void Tries::find_open_steps() {
  for (const auto& row : claim_->steps) {
    if (row.state != store::StepState::kOpen) continue;
    for (auto& one : tries_) {
      const PlannedStep* step = one.attempt.step_at(row.step_index);
      if (step != nullptr && !is_hook(step->role)) one.running = found_at_claim(*step, row);
    }
  }
}

void Tries::find_hook(Try& kept) const {
  for (const auto& row : claim_->steps) {
    if (row.state != store::StepState::kOpen) continue;
    const PlannedStep* step = kept.attempt.step_at(row.step_index);
    if (step != nullptr && is_hook(step->role)) kept.running = found_at_claim(*step, row);
  }
}

// An episode that was given up stays given up, even when later episodes ran after it.
void Tries::remember_lost() {
  for (const auto& row : claim_->steps)
    for (auto& one : tries_) {
      if (row.episode == 0 || row.episode != one.attempt.episode()) continue;
      one.began = true;
      one.told_seq = std::max(one.told_seq, row.told_seq);
      if (row.state != store::StepState::kLost || (row.decision != "skip" && row.decision != "escalate"))
        continue;
      const bool crash_loop = row.execution >= store::kExecutionsPerStepMax && row.decision == "skip";
      one.lost = LostStep{.gate_id = row.gate_id,
                          .outcome = crash_loop ? "crash_loop" : "lost",
                          .escalate = row.decision == "escalate"};
    }
}

Try* Tries::running() {
  const auto one = std::ranges::find_if(tries_, [](const Try& each) { return each.running.has_value(); });
  return one == tries_.end() ? nullptr : &*one;
}

Result<Try*> Tries::choose(const World& world) {
  if (!are_several()) return &tries_.front();
  const bool decided =
      std::ranges::any_of(tries_, [](const Try& one) { return one.result && decides(*one.result); });
  std::vector<EpisodeResult> results;
  for (auto& one : tries_) {
    using Outcome = EpisodeResult::Outcome;
    if (!one.result)
      one.result = EpisodeResult{.episode = one.attempt.episode(),
                                 .outcome = one.began ? Outcome::kCancelled : Outcome::kNotRun};
    if (!decided) {
      PAWL_TRY(one.result->changed_lines, one.attempt.changed_lines());
    }
    results.push_back(*one.result);
  }
  choice_ = choose_episode(results);
  if (planted("best_by_clock"))
    choice_.index = static_cast<std::size_t>(world.clock.wall().micros / 1000) % results.size();
  return &tries_[choice_.index];
}

std::vector<store::EpisodeRow> Tries::rows() const {
  std::vector<store::EpisodeRow> out;
  if (!are_several()) return out;
  for (std::size_t i = 0; i < tries_.size(); ++i) {
    const auto& result = *tries_[i].result;
    out.push_back({.attempt_id = claim_->attempt.attempt_id,
                   .episode = result.episode,
                   .outcome = std::string(name(result.outcome)),
                   .gates_passed = result.gates_passed,
                   .failing_signals = result.failing_signals,
                   .changed_lines = result.changed_lines,
                   .kept_by = i == choice_.index ? std::string(choice_.kept_by) : ""});
  }
  return out;
}

Result<agent::Spent> Tries::spending(const World& world, const Try& mine, store::StepStart& start) const {
  agent::Spent before, of_ended;
  std::int64_t not_over = 0, not_begun = 0;
  for (const auto& one : tries_) {
    if (&one != &mine) not_begun += one.has_begun() ? 0 : 1;
    if (&one != &mine && !one.agent_is_over()) ++not_over;
    if (&one != &mine && !one.agent_is_over()) continue;
    PAWL_TRY(const auto spent, world.episodes.spent(episode_of(*claim_, one.attempt.episode())));
    auto& to = &one == &mine ? before : of_ended;
    to.tokens += spent.tokens;
    to.usd_micros += spent.usd_micros;
  }
  const auto part = [&](const std::optional<std::int64_t>& cap, std::int64_t ended,
                        std::int64_t spent) -> std::optional<std::int64_t> {
    if (!cap) return std::nullopt;
    if (planted("budget_anew_after_a_crash")) spent = 0;
    return std::max<std::int64_t>(0, std::max<std::int64_t>(0, *cap - ended) / (1 + not_over) - spent);
  };
  const auto& budget = mine.attempt.phase().agent_budget;
  start.spends = true;
  start.shares = 1 + not_begun;
  start.tokens_most = part(budget.tokens, of_ended.tokens, before.tokens);
  start.usd_nanos_most = part(budget.usd_nanos, of_ended.usd_micros * 1000, before.usd_micros * 1000);
  return before;
}

}  // namespace pawl::executor
