// The plan that a history is played on, drawn by the dice.
#pragma once

#include <string>
#include <vector>

#include "sim/invariants.h"
#include "sim/world.h"
#include "store/store.h"

namespace pawl::sim {

constexpr std::int64_t kStepSeconds = 130;  // longer than a simulated step takes
constexpr std::int64_t kTokensMax = 200;    // the largest cap: some calls
constexpr std::int64_t kMicrosMax = 200;    // the same, in millionths of a dollar

struct Scene {
  std::string plan;
  store::NewRun run;
  std::vector<std::string> phase_ids;
  Bounds bounds;
};

Scene draw_scene(Dice& dice);

}  // namespace pawl::sim
