// The episodes of the attempt that an executor works on: its only one, or several (best_of). A detail of this
// room.
//
// The episode to work on, the episode that decides and the chosen episode follow from the episodes' results,
// in the order of their numbers. Speed has no influence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/episode_choice.h"
#include "executor/executor.h"

namespace pawl::executor {

struct Running {  // a step with an open marker
  const PlannedStep* step = nullptr;
  store::StepStart start;
  bool found = false;  // open at the claim, and not looked at yet
};

Running found_at_claim(const PlannedStep& step, const store::StepRow& row);

struct Try {
  Attempt attempt;
  std::optional<Running> running;
  std::optional<LostStep> lost;
  std::optional<EpisodeResult> result;        // set when it is over
  bool began = false;                         // a marker of it was written, whatever its result
  std::int64_t told_seq = 0;                  // events of its agent up to here are recorded, or about to be
  std::optional<store::Told::Event> unsaved;  // goes with the step's end, or its loss

  // Whether its agent runs, or will not run any more.
  bool has_begun() const { return running || agent_is_over(); }
  bool waits() const { return !result && !has_begun(); }
  bool agent_is_over() const { return lost || attempt.has_result(attempt.agent()); }
};

class Tries {
 public:
  // REQUIRES: as Attempt::load.
  static Result<Tries> load(const World& world, const store::Claim& claim, const Planned& plan);

  std::vector<Try>& all() { return tries_; }
  bool are_several() const { return tries_.size() > 1; }
  Try* running();  // the first that runs; nullptr when none does
  bool one_waits() const { return std::ranges::any_of(tries_, &Try::waits); }
  // Gives a hook's marker that was open at the claim to the episode that the hook is about.
  void find_hook(Try& kept) const;

  // Chooses the episode that counts: the first one that decides, or the best of all when none decides. Also
  // sets the outcome of the episodes that are not over. REQUIRES: the episodes before the deciding one, or
  // all, are over.
  Result<Try*> choose(const World& world);
  // The rows of all episodes after choose(); empty when there is only one episode.
  std::vector<store::EpisodeRow> rows() const;

  // Sets in `start` what the next step of `mine`'s agent may spend. The rest of the attempt's budget is
  // shared equally among the episodes that are not over. The rest of the run's budget is shared among `mine`
  // and the episodes that have not begun. Returns what `mine` has spent before.
  Result<agent::Spent> spending(const World& world, const Try& mine, store::StepStart& start) const;

 private:
  explicit Tries(const store::Claim& claim) : claim_(&claim) {}
  void find_open_steps();
  void remember_lost();

  const store::Claim* claim_;
  std::vector<Try> tries_;
  EpisodeChoice choice_;
};

}  // namespace pawl::executor
