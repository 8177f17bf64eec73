// The episodes of the attempt that an executor works on: its only one, or several (best_of). A detail of this
// room.
//
// Which of them is worked on, which decides and which is kept follows from what became of each, in the order
// of their numbers: never from which was faster.
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
  bool found = false;  // at the claim, and nobody looked at it yet
};

Running found_at_claim(const PlannedStep& step, const store::StepRow& row);

struct Try {
  Attempt attempt;
  std::optional<Running> running;
  std::optional<LostStep> lost;
  std::optional<EpisodeResult> result;  // when it is over
  bool began = false;                   // a marker of it was written, whatever became of it
  std::int64_t told_seq = 0;            // how far what its agent told is written down, or is about to be
  std::optional<store::Told::Event> unsaved;  // to be told with the step's end, or its loss

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
  Try* running();  // the first one; nullptr when none does
  bool one_waits() const { return std::ranges::any_of(tries_, &Try::waits); }
  // Puts the marker of a hook that was open at the claim where the hook's answer belongs.
  void find_hook(Try& kept) const;

  // Of the first one that decides, or of all when none does: the one that counts. REQUIRES: those before it,
  // or all, are over. What the rest comes to is said, too.
  Result<Try*> choose(const World& world);
  // What choose() found: nothing for an only one.
  std::vector<store::EpisodeRow> rows() const;

  // What the next step of `mine`'s agent may spend: of what is left of the attempt's and of the run's budget,
  // the part of an episode that is not over. Returns what the episode has spent before.
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
