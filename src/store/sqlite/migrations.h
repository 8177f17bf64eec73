// The schema's versions. A detail of this room.
#pragma once

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace pawl::store::sqlite {

// kCorrupt when the file is a database of somebody else.
Result<SchemaStatus> status_of(Connection& connection);
// Applies what is pending, all in one transaction.
Status apply_pending(Connection& connection, const OwnerIsDead& owner_is_dead);
// The newest of `status`: kUnavailable when somebody else has changed that meanwhile.
Status take_back_newest(Connection& connection, const SchemaStatus& status, bool destroy_data,
                        const OwnerIsDead& owner_is_dead);

}  // namespace pawl::store::sqlite
