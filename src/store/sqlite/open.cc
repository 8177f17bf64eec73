#include <fmt/format.h>

#include "os/file.h"
#include "sqlite/write_lock.h"
#include "store/sqlite/group.h"
#include "store/sqlite/migrations.h"
#include "store/write_lock.h"

namespace pawl::store {
namespace {

// The path in a location, which may be a bare path.
std::string path_in(const std::string& location) {
  constexpr std::string_view kSqlite = "sqlite:";
  return location.starts_with(kSqlite) ? location.substr(kSqlite.size()) : location;
}

Result<std::string> path_of(const std::string& location) {
  if (location.starts_with("postgres"))
    return fail(ErrorKind::kInvalid, "--store postgresql: not available yet");
  const std::string path = path_in(location);
  if (path.empty()) return fail(ErrorKind::kInvalid, "--store: expected sqlite:PATH");
  if (!os::is_folder(os::folder_of(path)))
    return fail(ErrorKind::kNotFound, "--store: no folder " + os::folder_of(path));
  return path;
}

Result<std::unique_ptr<sqlite::Connection>> connect(const std::string& location) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::connect(path);
}

Status check_version(const SchemaStatus& status, const std::string& path) {
  if (status.database > status.program)
    return fail(ErrorKind::kInvalid,
                fmt::format("database {}: its schema is version {}, this pawl knows {}; use a newer pawl",
                            path, status.database, status.program));
  return {};
}

// Refuses an older and a newer schema; accepts a database without one.
Status check_current(const SchemaStatus& status, const std::string& path) {
  PAWL_OK(check_version(status, path));
  if (status.database == 0 || status.database == status.program) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("database {}: its schema is version {}, this pawl needs {}; run `pawl migrate up`",
                          path, status.database, status.program));
}

// Opens a database with the schema of this program; an empty database gets it.
Result<std::unique_ptr<sqlite::Connection>> connect_current(const std::string& location) {
  PAWL_TRY(auto connection, connect(location));
  PAWL_TRY(const auto status, sqlite::status_of(*connection));
  PAWL_OK(check_current(status, connection->path()));
  if (status.database == 0) PAWL_OK(sqlite::apply_pending(*connection, {}));
  connection->expect_schema(status.program);
  return connection;
}

class SqliteGroup final : public StoreGroup {
 public:
  SqliteGroup(std::string location, std::shared_ptr<const RowSealer> sealer,
              std::shared_ptr<sqlite::Group> group)
      : location_(std::move(location)), sealer_(std::move(sealer)), group_(std::move(group)) {}
  Result<std::unique_ptr<Store>> open() override {
    PAWL_TRY(auto reads, connect_current(location_));
    return std::make_unique<sqlite::GroupedStore>(group_, std::move(reads), sealer_);
  }

 private:
  const std::string location_;
  const std::shared_ptr<const RowSealer> sealer_;
  const std::shared_ptr<sqlite::Group> group_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                          std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(auto connection, connect_current(location));
  return std::make_unique<sqlite::SqliteStore>(std::move(connection), std::move(sealer));
}

Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& location,
                                                     std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(auto connection, connect_current(location));
  auto group = std::make_shared<sqlite::Group>(std::move(connection), sealer);
  return std::make_unique<SqliteGroup>(location, std::move(sealer), std::move(group));
}

std::optional<os::LockHolder> write_lock_holder(const std::string& location) {
  return pawl::sqlite::write_lock_holder(path_in(location));
}

Status check_store(const std::string& location) {
  PAWL_TRY(const std::string path, path_of(location));
  if (!os::exists(path)) return {};
  PAWL_TRY(const auto connection, sqlite::connect(path));
  PAWL_TRY(const auto status, sqlite::status_of(*connection));
  return check_current(status, path);
}

Result<SchemaStatus> schema_status(const std::string& location) {
  PAWL_TRY(auto connection, connect(location));
  return sqlite::status_of(*connection);
}

Result<SchemaStatus> migrate_up(const std::string& location, const OwnerIsDead& owner_is_dead) {
  PAWL_TRY(auto connection, connect(location));
  PAWL_TRY(const auto status, sqlite::status_of(*connection));
  PAWL_OK(check_version(status, connection->path()));
  PAWL_OK(sqlite::apply_pending(*connection, owner_is_dead));
  return sqlite::status_of(*connection);
}

Result<SchemaStatus> migrate_down(const std::string& location, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead) {
  PAWL_TRY(auto connection, connect(location));
  PAWL_TRY(const auto status, sqlite::status_of(*connection));
  PAWL_OK(check_version(status, connection->path()));
  PAWL_OK(sqlite::take_back_newest(*connection, status, destroy_data, owner_is_dead));
  return sqlite::status_of(*connection);
}

}  // namespace pawl::store
