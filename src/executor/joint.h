// An attempt that passed, judged again on top of what was accepted since it began: two works that each hold
// may not hold together. A detail of this room.
//
// A round is a row (Store::judge_again) before its first step; its steps have indices of their own, so that a
// crash in it loses no more than one in the attempt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/tries.h"

namespace pawl::executor {

// The plan with what an attempt is judged by from its beginning: its phase's gates, and where its base has
// work of its own parallel tier, those of the phases there that passed by them.
Result<Planned> with_gates_of_tier(const World& world, const store::Claim& claim, const Planned& plan);

struct Joint {
  store::Claim claim;  // as if the attempt had begun on what is accepted now
  Planned plan;        // the phase, with the gates of those beside it
  std::vector<std::string> beside;
  std::optional<Try> one;

  // `again`: the round that is to run or goes on. Its gates are the phase's, then those of each
  // phase beside it that passed by its own: what a person approved holds nobody to gates that it fails.
  // REQUIRES: `kept` passed by itself; the objects are held; what the arguments refer to outlives it.
  static Result<std::unique_ptr<Joint>> load(const World& world, const store::Claim& claim,
                                             const store::JudgedAgain& again, const Planned& plan,
                                             const Attempt& kept);
};

}  // namespace pawl::executor
