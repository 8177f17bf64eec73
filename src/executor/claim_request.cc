// The part of a claim request that depends on the time and on this host.
#include "executor/executor.h"
#include "os/process.h"

namespace pawl::executor {

bool owner_is_dead(std::string_view owner) {
  // The owner is usually another worker of this process.
  static const std::string own = os::to_text(os::this_process()) + "/";
  if (owner.starts_with(own)) return false;
  const auto identity = os::parse_identity(owner);
  return identity && os::liveness(*identity) == os::Liveness::kDead;
}

store::ClaimRequest request_now(const os::Clock& clock) {
  store::ClaimRequest request{.now = clock.wall(), .mono = clock.mono(), .mono_id = clock.mono_id()};
  request.owner_is_dead = owner_is_dead;
  return request;
}

}  // namespace pawl::executor
