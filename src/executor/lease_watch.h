// Watches the lease of a claim while a step runs. A detail of this room.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "os/clock.h"
#include "store/verbs.h"

namespace pawl::executor {

class LeaseWatch {  // for one thread
 public:
  // The claim counts as a heartbeat. The references must outlive this object.
  LeaseWatch(store::Verbs& store, const os::Clock& clock, const store::Lease& lease, std::int64_t lease_ms)
      : store_(store), clock_(clock), lease_(lease), lease_ms_(lease_ms), last_heartbeat_(clock.mono()) {}

  // Call it a few times a second while a step runs. Extends the lease when a third of it has passed. Returns true
  // from the call on that finds another owner of the phase.
  bool is_lost();
  // Whether is_lost() ever returned true.
  bool was_lost() const { return lost_; }

 private:
  store::Verbs& store_;
  const os::Clock& clock_;
  const store::Lease& lease_;
  const std::int64_t lease_ms_;
  MonoTime last_heartbeat_, last_look_;
  bool lost_ = false;
};

}  // namespace pawl::executor
