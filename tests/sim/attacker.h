// Somebody who can write the database and does not have the key. What he changes is seen by the next verb,
// which writes nothing.
#pragma once

#include <cstdint>
#include <string>

#include "sim/machine.h"
#include "sim/world.h"

namespace pawl::sim {

class Attacker {
 public:
  Attacker(std::uint64_t seed, World& world, Machine& machine);
  // Does something to the run, or nothing. All is as it was when it returns. REQUIRES: nobody works.
  void act(const std::string& run_id);

 private:
  Status claim(const std::string& run_id);
  // Whether it changed anything.
  static bool change(std::string sql, const std::string& run_id);

  Dice dice_;  // of his own: he changes nothing of what else happens
  World& world_;
  Machine& machine_;
};

}  // namespace pawl::sim
