#include "store/sqlite/driver.h"

#include "embedded/sql.h"
#include "os/file.h"
#include "store/before_migration.h"
#include "store/sqlite/group.h"
#include "store/sqlite/migrations.h"

namespace pawl::store::sqlite {
namespace {

// Opens a database with the schema of this program; an empty database gets it.
Result<std::unique_ptr<Connection>> connect_current(const std::string& path) {
  PAWL_TRY(auto connection, connect(path));
  PAWL_TRY(const auto status, status_of(*connection));
  PAWL_OK(check_current(status, connection->path()));
  if (status.database == 0) PAWL_OK(apply_pending(*connection, {}, nullptr));
  connection->expect_schema(status.program, sql::m0018_cost_guards_up);
  PAWL_OK(connection->check_programs());
  return connection;
}

class SqliteGroup final : public StoreGroup {
 public:
  SqliteGroup(std::string path, std::shared_ptr<const RowSealer> sealer, std::shared_ptr<Group> group)
      : path_(std::move(path)), sealer_(std::move(sealer)), group_(std::move(group)) {}
  Result<std::unique_ptr<Store>> open() override {
    PAWL_TRY(auto reads, connect_current(path_));
    return std::make_unique<GroupedStore>(group_, std::make_unique<SqliteDatabase>(std::move(reads)),
                                          sealer_);
  }

 private:
  const std::string path_;
  const std::shared_ptr<const RowSealer> sealer_;
  const std::shared_ptr<Group> group_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& path, std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(auto connection, connect_current(path));
  return std::make_unique<RunStore>(std::make_unique<SqliteDatabase>(std::move(connection)),
                                    std::move(sealer));
}

Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& path,
                                                     std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(auto connection, connect_current(path));
  auto group = std::make_shared<Group>(std::move(connection), sealer);
  return std::make_unique<SqliteGroup>(path, std::move(sealer), std::move(group));
}

Status check_store(const std::string& path) {
  if (!os::exists(path)) return {};
  PAWL_TRY(const auto connection, connect(path));
  PAWL_TRY(const auto status, status_of(*connection));
  return check_current(status, path);
}

Result<SchemaStatus> schema_status(const std::string& path) {
  PAWL_TRY(auto connection, connect(path));
  return status_of(*connection);
}

Result<SchemaStatus> migrate_up(const std::string& path, const OwnerIsDead& owner_is_dead,
                                const RowSealer* sealer) {
  PAWL_TRY(auto connection, connect(path));
  PAWL_TRY(const auto status, status_of(*connection));
  PAWL_OK(check_not_newer(status, connection->path()));
  PAWL_OK(apply_pending(*connection, owner_is_dead, sealer));
  return status_of(*connection);
}

Result<SchemaStatus> migrate_down(const std::string& path, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead) {
  PAWL_TRY(auto connection, connect(path));
  PAWL_TRY(const auto status, status_of(*connection));
  PAWL_OK(check_not_newer(status, connection->path()));
  PAWL_OK(take_back_newest(*connection, status, destroy_data, owner_is_dead));
  return status_of(*connection);
}

}  // namespace pawl::store::sqlite
