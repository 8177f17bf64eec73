// Applies and takes back the versions of the schema. A detail of this folder.
#pragma once

#include "store/sqlite/statements.h"
#include "store/store.h"

namespace pawl::store::sqlite {

// kCorrupt: the file is a database of another program.
Result<SchemaStatus> status_of(Connection& connection);
// Applies all pending migrations in one transaction. Durable when it returns. kUnavailable: an owner that is
// not known to be dead holds a phase. kInvalid: ends of chains need a seal, and `sealer` is null.
Status apply_pending(Connection& connection, const OwnerIsDead& owner_is_dead, const RowSealer* sealer);
// Takes back the newest migration of `status`, durably. kUnavailable: the version has changed meanwhile, or a
// phase is held. kDenied: data would be lost and `destroy_data` is false.
Status take_back_newest(Connection& connection, const SchemaStatus& status, bool destroy_data,
                        const OwnerIsDead& owner_is_dead);

// The entries of the schema that the migrations of this program make, one in a line, without comments and
// repeated spaces.
Result<std::string> schema_of_program();
// The same entries of a database.
Result<std::string> schema_of(Connection& connection);

}  // namespace pawl::store::sqlite
