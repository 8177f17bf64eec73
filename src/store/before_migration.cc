#include "store/before_migration.h"

#include <fmt/format.h>

#include "os/clock.h"

namespace pawl::store {
namespace {

constexpr std::int64_t kSeals = 19;  // the version of the schema that adds seals of open chains

}  // namespace

Status check_not_newer(const SchemaStatus& status, const std::string& database) {
  if (status.database <= status.program) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("database {}: its schema is version {}, this pawl knows {}; use a newer pawl",
                          database, status.database, status.program));
}

Status check_current(const SchemaStatus& status, const std::string& database) {
  PAWL_OK(check_not_newer(status, database));
  if (status.database == 0 || status.database == status.program) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("database {}: its schema is version {}, this pawl needs {}; run `pawl migrate up`",
                          database, status.database, status.program));
}

Status check_can_take_back(const SchemaStatus& seen, std::int64_t now) {
  if (seen.database == 0)
    return fail(ErrorKind::kInvalid, "the database has no schema: there is nothing to take back");
  if (now == seen.database) return {};
  return fail(ErrorKind::kUnavailable,
              fmt::format("the schema was version {} a moment ago and is {} now: somebody else migrates it; "
                          "see `pawl migrate status`",
                          seen.database, now));
}

Status check_loss(std::int64_t rows, std::string_view noun) {
  if (rows == 0) return {};
  return fail(ErrorKind::kDenied,
              fmt::format("{} {} would be lost; export the runs, then say --destroy-data", rows, noun));
}

bool lacks_seals(std::int64_t version) { return version < kSeals; }

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
