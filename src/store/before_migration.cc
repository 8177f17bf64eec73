#include "store/before_migration.h"

#include <fmt/format.h>

#include "os/clock.h"

namespace pawl::store {

Status check_nobody_works(const std::vector<PhaseRow>& held, const OwnerIsDead& owner_is_dead) {
  const os::SystemClock clock;
  ClaimRequest now{.now = clock.wall(), .mono = clock.mono(), .mono_id = clock.mono_id()};
  now.owner_is_dead = owner_is_dead;
  for (const auto& phase : held)
    if (lease_is_live(phase, now))
      return fail(
          ErrorKind::kUnavailable,
          fmt::format(
              "phase {} of run {} is being worked on by {}: end that first (Ctrl-C leaves all resumable), "
              "then migrate",
              phase.phase_id, phase.run_id, phase.lease_owner));
  return {};
}

Result<std::vector<std::string>> seals_of(const std::vector<OpenEnd>& ends, const RowSealer* sealer) {
  std::vector<std::string> out;
  if (ends.empty()) return out;
  if (sealer == nullptr)
    return fail(ErrorKind::kInvalid,
                fmt::format("{} phase(s) of the database are not over, and their rows need the key of the "
                            "state folder: name the folder with --dir",
                            ends.size()));
  for (const auto& end : ends) out.push_back(sealer->seal_of_end(end.run_id, end.chain, end.rows, end.head));
  return out;
}

}  // namespace pawl::store
