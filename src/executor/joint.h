// Judges an attempt that passed a second time, on top of all work that was accepted since it began: two works
// that each pass alone may fail together. A detail of this room.
//
// A round is a row (Store::judge_again) before its first step. Its steps have indices of their own, so a
// crash in a round loses no more than a crash in the attempt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/attempt.h"

namespace pawl::executor {

// Returns the plan with all gates that judge an attempt from its beginning: the gates of its phase. When its base has
// work of its own parallel tier, the gates of the phases that did this work and passed are added.
Result<Planned> with_gates_of_tier(const World& world, const store::Claim& claim, const Planned& plan);

struct Joint {
  store::Claim claim;  // as if the attempt had begun on the work that is accepted now
  Planned plan;        // the phase, with the gates of the phases beside it
  std::vector<std::string> beside;
  std::optional<ActiveEpisode> one;

  // `again`: the round to run or to continue. Its gates are the phase's gates, then the gates of each phase
  // beside it that passed by its own gates. A phase that a person approved adds no gates, because its work
  // may fail them. REQUIRES: `kept` passed by itself; the objects are held; everything that the arguments
  // refer to outlives the result.
  static Result<std::unique_ptr<Joint>> load(const World& world, const store::Claim& claim,
                                             const store::JudgedAgain& again, const Planned& plan,
                                             const Episode& kept);
};

}  // namespace pawl::executor
