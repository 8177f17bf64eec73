#include "executor/lease_watch.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kLookEveryMs = 1000;  // a cancelled step ends within two seconds

}  // namespace

bool LeaseWatch::is_lost() {
  const MonoTime time = world_.clock.mono();
  if (time.micros - last_look_.micros >= kLookEveryMs * 1000) {
    last_look_ = time;
    const auto held = world_.store.holds(lease_);
    if (held && !*held) return lost_ = true;
  }
  if (time.micros - last_heartbeat_.micros < lease_ms_ * 1000 / 3) return false;
  last_heartbeat_ = time;
  const auto status = world_.store.heartbeat(lease_, world_.clock.wall(), time, lease_ms_);
  // A store that is busy or full for a moment costs a heartbeat, not the step.
  if (!status && status.error().kind == ErrorKind::kConflict) lost_ = true;
  return lost_;
}

}  // namespace pawl::executor
