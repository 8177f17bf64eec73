// The slots of a process that one attempt uses: a slot for its claim, and a slot for each agent besides the first. A
// detail of this room.
#pragma once

#include <cstdint>

#include "executor/executor.h"

namespace pawl::executor {

class AgentSlots {  // for one thread; gives all slots back at its end
 public:
  explicit AgentSlots(Slots& slots) : slots_(slots) { slots_.take(); }
  ~AgentSlots() { slots_.give_back(1 + beside_); }
  AgentSlots(const AgentSlots&) = delete;
  AgentSlots& operator=(const AgentSlots&) = delete;

  // Gives back all slots that the first agent and `agents` others do not need.
  void keep_for(std::int64_t agents) {
    for (; beside_ > agents; --beside_) slots_.give_back(1);
  }
  // Whether one agent more than `agents` may run besides the first. REQUIRES: keep_for(agents).
  bool take_for_one_more_than(std::int64_t agents) {
    if (agents < beside_) return true;
    if (!slots_.try_take()) return false;
    ++beside_;
    return true;
  }

 private:
  Slots& slots_;
  std::int64_t beside_ = 0;
};

}  // namespace pawl::executor
