#include "executor/attempt.h"

#include <algorithm>

#include "base/mutant.h"
#include "executor/joint.h"
#include "executor/recovery.h"
#include "executor/reported.h"
#include "os/defences.h"
#include "store/marker.h"
#include "store/step_rows.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool chooses_by_clock() { return mutant("best_by_clock"); }
bool forgets_spending() { return mutant("budget_anew_after_a_crash"); }
bool waits_spend_executions() { return mutant("wait_spends_an_execution"); }

}  // namespace

bool is_row_of(const store::StepRow& row, const store::Claim& claim, const PlannedStep& step) {
  return row.label == label_of(claim.phase.phase_id, step, claim.attempt.number) &&
         row.gate_id == step.gate_id && row.step_name == step_name(step) && row.episode == step.episode;
}

std::unexpected<Error> not_its_place(const store::StepRow& row) {
  return fail(ErrorKind::kForged, "the table of steps has " + row.label + " at place " +
                                      std::to_string(row.step_index) + ", where the plan has no such step. " +
                                      "Restore the state folder from a backup");
}

Running found_at_claim(const PlannedStep& step, const store::StepRow& row) {
  return {.step = &step, .start = store::marker_in(row), .found = true};
}

Attempt::Attempt(const World& world, const store::Claim& claim, const Planned& plan)
    : world_(&world), claim_(&claim), plan_(&plan) {
  for (const auto& row : claim.steps) {
    executions_[row.step_index] = std::max(executions_[row.step_index], row.execution);
    if (has_waited(row)) ++waits_[row.step_index];
  }
}
Attempt::Attempt(Attempt&&) noexcept = default;
Attempt::~Attempt() = default;

Result<Attempt> Attempt::load(const World& world, const store::Claim& claim, const Planned& plan) {
  Attempt out(world, claim, plan);
  for (const auto number : episodes_of(plan.phase)) {
    PAWL_TRY(auto episode, Episode::load(world, claim, plan, number));
    out.episodes_.push_back(
        {.episode = std::move(episode), .told_seq = number == 0 ? claim.attempt.told_seq : 0});
  }
  PAWL_OK(out.check_places());
  out.find_open_steps();
  out.remember_lost();
  return out;
}

// A row at the place of another step would be taken for its result. A row at a place that no step has would be
// ignored, and its step would run again.
Status Attempt::check_places() const {
  const auto is_of_episode = [&](const store::StepRow& row) {
    return std::ranges::any_of(episodes_, [&](const ActiveEpisode& one) {
      const auto* step = one.episode.step_at(row.step_index);
      return step != nullptr && is_row_of(row, *claim_, *step);
    });
  };
  for (const auto& row : claim_->steps) {
    const auto round = row.step_index / kRoundStride;
    // Joint::load() checks the rows of the newest round. No step reads those of earlier ones.
    const bool is_of_round =
        1 <= round && round <= claim_->attempt.joined_round && store::is_named_by_its_label(row);
    if (!is_of_round && !is_of_episode(row) && os::defences().signer) return not_its_place(row);
  }
  return {};
}

EpisodeState Attempt::state_of(const ActiveEpisode& one) const {
  if (one.running)
    return {.doing = Doing::kRunning,
            .runs_alone = one.running->step->role == StepRole::kBaseline && !one.agent_is_over()};
  if (one.waits_for) return {.doing = Doing::kWaiting};
  if (one.result) return {.doing = Doing::kOver, .decides = are_several() && decides(*one.result)};
  return {.doing = one.next != nullptr ? Doing::kReady : Doing::kUnknown};
}

Doing Attempt::doing_of_judged() const {
  const ActiveEpisode& one = round_ ? *round_->one : episodes_[choice_.index];
  if (one.running) return Doing::kRunning;
  if (one.next != nullptr) return Doing::kReady;
  return stage_is_over_ ? Doing::kOver : Doing::kUnknown;
}

AttemptState Attempt::state(bool out_of_budget) const {
  AttemptState out{.stage = stage_, .out_of_budget = out_of_budget};
  for (const auto& one : episodes_) out.episodes.push_back(state_of(one));
  if (stage_ != Stage::kEpisodes) out.chosen.doing = doing_of_judged();
  return out;
}

ActiveEpisode& Attempt::at(const Move& move) {
  return stage_ == Stage::kEpisodes ? episodes_[move.episode] : judged();
}

Status Attempt::find_step(ActiveEpisode& one, Observer& observer) {
  PAWL_OK(hold_objects());
  if (stage_ == Stage::kHooks) {
    PAWL_TRY(one.next, one.episode.next_hook());
  } else if (!one.lost) {
    PAWL_TRY(one.next, next_step_of(one.episode, *world_, observer, *claim_));
  }
  if (one.next != nullptr) return {};
  if (stage_ != Stage::kEpisodes) {
    stage_is_over_ = true;
    return {};
  }
  one.result.emplace();
  if (are_several()) {
    PAWL_TRY(one.result, one.episode.worth(one.lost));
  }
  return {};
}

std::int64_t Attempt::next_execution(std::int64_t step_index) const {
  const auto known = executions_.find(step_index);
  return 1 + (known == executions_.end() ? 0 : known->second);
}

std::int64_t Attempt::waits_of(std::int64_t step_index) const {
  const auto known = waits_.find(step_index);
  return known == waits_.end() || waits_spend_executions() ? 0 : known->second;
}

store::WaitsSoFar Attempt::waits() const {
  auto out = claim_->waits;
  for (const auto& one : episodes_) {
    if (!one.waits_for) continue;
    ++out.count;
    out.waited_ms += one.waits_for->delay_ms;
    out.backoffs += one.waits_for->source == store::kWaitOfBackoff ? 1 : 0;
  }
  return out;
}

const store::Wait& Attempt::last_wait() const {
  const store::Wait* last = nullptr;
  for (const auto& one : episodes_)
    if (one.waits_for && (last == nullptr || last->not_before < one.waits_for->not_before))
      last = &*one.waits_for;
  PAWL_CHECK(last != nullptr);
  return *last;
}

void Attempt::begun(ActiveEpisode& one, const PlannedStep& step, store::StepStart start) {
  executions_[start.step_index] = start.execution;
  one.running = Running{.step = &step, .start = std::move(start)};
  one.began = true;
  release_objects();
}

Status Attempt::hold_objects() {
  if (hold_) return {};
  PAWL_TRY(hold_, world_->objects.hold());
  for (auto& one : episodes_) PAWL_OK(one.episode.renew_layers());
  if (round_) PAWL_OK(round_->one->episode.renew_layers());
  return {};
}

// Only markers of agents and gates: the episode of a hook's marker is known at the end of the episodes.
void Attempt::find_open_steps() {
  for (const auto& row : claim_->steps) {
    if (row.state != store::StepState::kOpen) continue;
    for (auto& one : episodes_) {
      const PlannedStep* step = one.episode.step_at(row.step_index);
      if (step == nullptr || is_hook(step->role)) continue;
      one.running = found_at_claim(*step, row);
      one.running->start.waits = waits_of(row.step_index);
    }
  }
}

void Attempt::ask_hooks() {
  auto& one = judged();
  stage_ = Stage::kHooks;
  stage_is_over_ = one.lost.has_value();
  if (stage_is_over_) return;
  for (const auto& row : claim_->steps) {
    if (row.state != store::StepState::kOpen) continue;
    const PlannedStep* step = one.episode.step_at(row.step_index);
    if (step != nullptr && is_hook(step->role)) one.running = found_at_claim(*step, row);
  }
}

// An episode that was given up stays given up, even when later episodes ran after it.
void Attempt::remember_lost() {
  for (const auto& row : claim_->steps)
    for (auto& one : episodes_) {
      if (row.episode == 0 || row.episode != one.episode.number()) continue;
      one.began = true;
      one.told_seq = std::max(one.told_seq, row.told_seq);
      if (row.state != store::StepState::kLost) continue;
      const auto decision = recorded_recovery(row.decision, row.execution - waits_of(row.step_index));
      if (decision && ends_episode(*decision))
        one.lost = lost_by(*decision, store::RecoveryFound::kNothing, row.gate_id);
    }
}

ActiveEpisode* Attempt::running() {
  const auto one =
      std::ranges::find_if(episodes_, [](const ActiveEpisode& each) { return each.running.has_value(); });
  return one == episodes_.end() ? nullptr : &*one;
}

Status Attempt::choose() {
  if (are_several()) {
    const bool decided = std::ranges::any_of(
        episodes_, [](const ActiveEpisode& one) { return one.result && decides(*one.result); });
    std::vector<EpisodeResult> results;
    for (auto& one : episodes_) {
      using Outcome = EpisodeResult::Outcome;
      if (!one.result)
        one.result = EpisodeResult{.episode = one.episode.number(),
                                   .outcome = one.began ? Outcome::kCancelled : Outcome::kNotRun};
      if (!decided) {
        PAWL_TRY(one.result->changed_lines, one.episode.changed_lines());
      }
      results.push_back(*one.result);
    }
    choice_ = choose_episode(results);
    if (chooses_by_clock())
      choice_.index = static_cast<std::size_t>(world_->clock.wall().micros / 1000) % results.size();
  }
  stage_ = Stage::kGates;
  stage_is_over_ = true;  // the gates of the attempt itself are over
  if (claim_->attempt.joined_round == 0) return {};
  return judge_again({.attempt = claim_->attempt, .layers = claim_->judged_layers});
}

Status Attempt::judge_again(const store::JudgedAgain& again) {
  PAWL_OK(hold_objects());
  PAWL_TRY(round_, Joint::load(*world_, *claim_, again, *plan_, chosen().episode));
  stage_ = Stage::kGates;
  stage_is_over_ = false;
  return {};
}

ActiveEpisode& Attempt::judged() { return round_ ? *round_->one : chosen(); }

const store::AttemptRow& Attempt::judged_row() const {
  return round_ ? round_->claim.attempt : claim_->attempt;
}

const std::vector<std::string>& Attempt::judged_beside() const { return round_->beside; }

std::vector<store::EpisodeRow> Attempt::rows() const {
  std::vector<store::EpisodeRow> out;
  if (!are_several()) return out;
  for (std::size_t i = 0; i < episodes_.size(); ++i) {
    const auto& result = *episodes_[i].result;
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

Result<agent::Spent> Attempt::spending(const ActiveEpisode& mine, store::StepStart& start) const {
  agent::Spent before, of_ended;
  std::int64_t not_over = 0, not_begun = 0;
  for (const auto& one : episodes_) {
    if (&one != &mine) not_begun += one.has_begun() ? 0 : 1;
    if (&one != &mine && !one.agent_is_over()) ++not_over;
    if (&one != &mine && !one.agent_is_over()) continue;
    PAWL_TRY(const auto spent, world_->journals.spent(episode_of(*claim_, one.episode.number())));
    auto& to = &one == &mine ? before : of_ended;
    to.tokens += spent.tokens;
    to.usd_micros += spent.usd_micros;
  }
  const auto part = [&](const std::optional<std::int64_t>& cap, std::int64_t ended,
                        std::int64_t spent) -> std::optional<std::int64_t> {
    if (!cap) return std::nullopt;
    if (forgets_spending()) spent = 0;
    return std::max<std::int64_t>(0, std::max<std::int64_t>(0, *cap - ended) / (1 + not_over) - spent);
  };
  const auto& budget = mine.episode.phase().agent_budget;
  start.spends = true;
  start.shares = 1 + not_begun;
  start.tokens_most = part(budget.tokens, of_ended.tokens, before.tokens);
  start.usd_nanos_most = part(budget.usd_nanos, of_ended.usd_micros * 1000, before.usd_micros * 1000);
  return before;
}

Result<bool> Attempt::has_spent_its_budget(const ActiveEpisode& mine) const {
  const auto& budget = mine.episode.phase().agent_budget;
  if (!budget.tokens && !budget.usd_nanos) return false;
  store::StepStart next;
  PAWL_OK(spending(mine, next));
  return next.tokens_most == 0 || next.usd_nanos_most == 0;
}

}  // namespace pawl::executor
