// Chooses the driver by the location. SQLite is the only one.
#include <algorithm>

#include "os/file.h"
#include "sqlite/write_lock.h"
#include "store/sqlite/driver.h"
#include "store/store.h"
#include "store/write_lock.h"

namespace pawl::store {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

bool is_postgresql(const std::string& location) {
  return location.starts_with("postgres:") || location.starts_with("postgresql:");
}

// The name of another database before a colon, such as `mysql:x`; "" for a path. Without this check, the location of
// another database would silently become a new file. A path with a colon starts with `./`.
std::string other_database(const std::string& location) {
  const auto is_letter = [](char c) { return 'a' <= c && c <= 'z'; };
  const auto of_name = [&](char c) { return is_letter(c) || ('0' <= c && c <= '9') || c == '+'; };
  const auto end = std::ranges::find_if_not(location, of_name);
  if (location.starts_with(kSqlite) || end == location.end() || *end != ':' || !is_letter(location.front()))
    return "";
  return {location.begin(), end};
}

Result<std::string> path_of(const std::string& location) {
  if (is_postgresql(location))
    return fail(ErrorKind::kInvalid, "postgresql is not available yet (--store or PAWL_STORE)");
  if (const auto other = other_database(location); !other.empty())
    return fail(ErrorKind::kInvalid,
                other + ": no such database; expected sqlite:PATH (--store or PAWL_STORE)");
  std::string path = file_of(location);
  if (path.empty()) return fail(ErrorKind::kInvalid, "expected sqlite:PATH (--store or PAWL_STORE)");
  if (!os::is_folder(os::folder_of(path)))
    return fail(ErrorKind::kNotFound, "--store: no folder " + os::folder_of(path));
  return path;
}

}  // namespace

std::string location_of_file(const std::string& path) { return std::string(kSqlite) + path; }

std::string file_of(const std::string& location) {
  if (is_postgresql(location) || !other_database(location).empty()) return "";
  return location.starts_with(kSqlite) ? location.substr(kSqlite.size()) : location;
}

Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                          std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::open_store(path, std::move(sealer));
}

Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& location,
                                                     std::shared_ptr<const RowSealer> sealer) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::open_store_group(path, std::move(sealer));
}

Status check_store(const std::string& location) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::check_store(path);
}

Result<SchemaStatus> schema_status(const std::string& location) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::schema_status(path);
}

Result<SchemaStatus> migrate_up(const std::string& location, const OwnerIsDead& owner_is_dead,
                                const RowSealer* sealer) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::migrate_up(path, owner_is_dead, sealer);
}

Result<SchemaStatus> migrate_down(const std::string& location, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead) {
  PAWL_TRY(const std::string path, path_of(location));
  return sqlite::migrate_down(path, destroy_data, owner_is_dead);
}

std::optional<os::LockHolder> write_lock_holder(const std::string& location) {
  return pawl::sqlite::write_lock_holder(file_of(location));
}

}  // namespace pawl::store
