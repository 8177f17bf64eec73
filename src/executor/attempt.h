// The attempt that an executor works on: its only episode, or several (best_of), and the round in which the chosen
// episode is judged again. A detail of this room.
//
// The episode to work on, the episode that decides and the chosen episode follow from the episodes' results,
// in the order of their numbers. Speed has no influence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "executor/episode.h"
#include "executor/episode_choice.h"
#include "executor/executor.h"
#include "executor/next_move.h"

namespace pawl::executor {

struct Running {  // a step with an open marker
  const PlannedStep* step = nullptr;
  store::StepStart start;
  bool found = false;  // open at the claim, and not looked at yet
};

// Whether the row is of this step of the claimed attempt. No ledger row has the place of a step, but each has
// its label.
bool is_row_of(const store::StepRow& row, const store::Claim& claim, const PlannedStep& step);
// kForged: a row of the claim is at a place where the plan has another step, or no step.
std::unexpected<Error> not_its_place(const store::StepRow& row);
Running found_at_claim(const PlannedStep& step, const store::StepRow& row);

// An episode with its state in this turn.
struct ActiveEpisode {
  Episode episode;
  const PlannedStep* next = nullptr;  // computed, and not begun yet
  std::optional<Running> running;
  std::optional<LostStep> lost;
  std::optional<EpisodeResult> result;   // set when it is over
  bool began = false;                    // a marker of it was written, whatever its result
  std::int64_t told_seq = 0;             // events of its agent up to here are recorded, or about to be
  std::optional<store::Wait> waits_for;  // set when the provider refused its agent in this turn

  // Whether its agent runs, or will not run any more.
  bool has_begun() const { return running || agent_is_over(); }
  bool has_to_begin() const { return !result && !waits_for && !has_begun(); }
  bool agent_is_over() const { return lost || episode.has_result(episode.agent()); }
};

struct Joint;

class Attempt {  // for one thread
 public:
  // REQUIRES: as Episode::load. `world` must outlive it.
  static Result<Attempt> load(const World& world, const store::Claim& claim, const Planned& plan);
  Attempt(Attempt&&) noexcept;
  ~Attempt();

  // The input of next_move(). `out_of_budget`: the budget refused the step of the last move.
  AttemptState state(bool out_of_budget) const;
  // The episode that a move is about.
  ActiveEpisode& at(const Move& move);

  std::vector<ActiveEpisode>& all() { return episodes_; }
  bool are_several() const { return episodes_.size() > 1; }
  ActiveEpisode* running();  // the first episode that runs; nullptr: no episode runs
  bool one_has_to_begin() const { return std::ranges::any_of(episodes_, &ActiveEpisode::has_to_begin); }

  // Computes the next step of `one`, or its result when no step is left. Holds the objects.
  Status find_step(ActiveEpisode& one, Observer& observer);
  // The number of the next execution of a step, from 1.
  std::int64_t next_execution(std::int64_t step_index) const;
  // The number of earlier executions of the step that ended with a wait.
  std::int64_t waits_of(std::int64_t step_index) const;
  // The waits of the attempt so far, with the waits of this turn.
  store::WaitsSoFar waits() const;
  // The wait that ends last. REQUIRES: an episode waits.
  const store::Wait& last_wait() const;
  // The marker of `start` is durable. Its row names the objects now, so they are not held any more.
  void begun(ActiveEpisode& one, const PlannedStep& step, store::StepStart start);

  // The hold lasts until a step or a row names the objects. It is not kept while a step runs: gc would wait for it.
  Status hold_objects();
  void release_objects() { hold_.reset(); }

  // Chooses the episode that counts: the first episode that decides, or the best of all when none decides. Also sets
  // the outcome of the episodes that are not over. Continues the round that the claim has begun. REQUIRES: the
  // episodes before the deciding episode are over; without a deciding episode, all are over.
  Status choose();
  // Begins a round: the chosen episode passed, and others were accepted meanwhile.
  Status judge_again(const store::JudgedAgain& again);
  // Begins the stage kHooks. A hook's marker that was open at the claim belongs to the judged episode.
  void ask_hooks();

  // REQUIRES for these: choose().
  ActiveEpisode& chosen() { return episodes_[choice_.index]; }
  ActiveEpisode& judged();                      // the chosen episode, in its newest round if there is one
  const store::AttemptRow& judged_row() const;  // the attempt with the newest round
  const std::vector<std::string>& judged_beside() const;  // the phases of that round
  // The rows of all episodes; empty when there is only one episode.
  std::vector<store::EpisodeRow> rows() const;

  // Sets in `start` the amounts that the next step of `mine`'s agent may spend. The rest of the attempt's budget is
  // shared equally among the episodes that are not over. The rest of the run's budget is shared among `mine` and the
  // episodes that have not begun. Returns the amounts that `mine` has spent before.
  Result<agent::Spent> spending(const ActiveEpisode& mine, store::StepStart& start) const;
  // Whether the agent of `mine` has spent the part of the attempt's budget that it may. False without a budget.
  Result<bool> has_spent_its_budget(const ActiveEpisode& mine) const;

 private:
  Attempt(const World& world, const store::Claim& claim, const Planned& plan);
  Status check_places() const;
  void find_open_steps();
  void remember_lost();
  EpisodeState state_of(const ActiveEpisode& one) const;
  Doing doing_of_judged() const;

  const World* world_;
  const store::Claim* claim_;
  const Planned* plan_;
  Stage stage_ = Stage::kEpisodes;
  bool stage_is_over_ = false;  // in kGates and kHooks: the judged episode has no step left in it
  std::vector<ActiveEpisode> episodes_;
  EpisodeChoice choice_;
  std::unique_ptr<Joint> round_;                     // the newest one
  std::map<std::int64_t, std::int64_t> executions_;  // markers so far, by step_index
  std::map<std::int64_t, std::int64_t> waits_;       // those of earlier turns that waited, by step_index
  std::optional<workspace::Hold> hold_;
};

}  // namespace pawl::executor
