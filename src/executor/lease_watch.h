// Watches the lease of a claim while a step runs. A detail of this room.
#pragma once

#include <cstdint>

#include "executor/executor.h"
#include "os/clock.h"
#include "store/store.h"

namespace pawl::executor {

class LeaseWatch {  // for one thread
 public:
  // The claim counts as a heartbeat. `world` and `lease` must outlive it.
  LeaseWatch(const World& world, const store::Lease& lease, std::int64_t lease_ms)
      : world_(world), lease_(lease), lease_ms_(lease_ms), last_heartbeat_(world.clock.mono()) {}

  // Call it a few times a second while a step runs. Extends the lease when a third of it has passed. Returns
  // true when another owner has the phase.
  bool is_lost();
  // Whether is_lost() ever returned true.
  bool was_lost() const { return lost_; }

 private:
  const World& world_;
  const store::Lease& lease_;
  const std::int64_t lease_ms_;
  MonoTime last_heartbeat_, last_look_;
  bool lost_ = false;
};

}  // namespace pawl::executor
