// An attacker who can write the database and does not have the key. The next verb detects each change and
// writes no row.
#pragma once

#include <cstdint>
#include <string>

#include "sim/machine.h"
#include "sim/world.h"

namespace pawl::sim {

class Attacker {
 public:
  Attacker(std::uint64_t seed, World& world, Machine& machine);
  // Makes one change to the run, or none, and checks the next verb. The disk is restored when it returns.
  // REQUIRES: no executor is in a call.
  void act(const std::string& run_id);

  enum class FoundBy { kOperator, kClaim, kCheck };  // the verb that has to detect a change

 private:
  Status verb(FoundBy what, const std::string& run_id);
  Status claim(const std::string& run_id);
  // Runs the statement. True when it changed a row.
  static bool change(std::string sql, const std::string& run_id);

  Dice dice_;  // separate, so that attacks do not change the rest of the history
  World& world_;
  Machine& machine_;
};

}  // namespace pawl::sim
