// The door of this folder: stores in SQLite files, by path. store/store.h has the contract of each function.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace pawl::store::sqlite {

Result<std::unique_ptr<Store>> open_store(const std::string& path, std::shared_ptr<const RowSealer> sealer);
Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& path,
                                                     std::shared_ptr<const RowSealer> sealer);
Status check_store(const std::string& path);
Result<SchemaStatus> schema_status(const std::string& path);
Result<SchemaStatus> migrate_up(const std::string& path, const OwnerIsDead& owner_is_dead,
                                const RowSealer* sealer);
Result<SchemaStatus> migrate_down(const std::string& path, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead);

}  // namespace pawl::store::sqlite
