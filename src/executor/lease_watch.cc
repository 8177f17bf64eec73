#include "executor/lease_watch.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kLookEveryMs = 1000;  // a cancelled step ends within two seconds

}  // namespace

bool LeaseWatch::is_lost() {
  if (lost_) return true;
  const MonoTime time = clock_.mono();
  if (ms_between(last_look_, time) >= kLookEveryMs) {
    last_look_ = time;
    const auto held = store_.holds(lease_);
    if (held && !*held) return lost_ = true;
  }
  if (ms_between(last_heartbeat_, time) < lease_ms_ / 3) return false;
  last_heartbeat_ = time;
  const auto status = store_.heartbeat(lease_, clock_.wall(), time, lease_ms_);
  // A store that is busy or full for a moment costs a heartbeat, not the step.
  if (!status && status.error().kind == ErrorKind::kConflict) lost_ = true;
  return lost_;
}

}  // namespace pawl::executor
