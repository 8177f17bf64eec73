// The decisions about versions of the schema: which ones are opened, whether a migration may begin, and what it does to
// rows that older versions left. A driver reads and writes the rows. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/row_sealer.h"
#include "store/rows.h"
#include "store/store.h"

namespace pawl::store {

// kInvalid: the schema is newer than this program. `database`: what a message calls it.
Status check_not_newer(const SchemaStatus& status, const std::string& database);
// kInvalid: the schema is older or newer. A database without a schema is accepted.
Status check_current(const SchemaStatus& status, const std::string& database);

// kInvalid: `seen` has no schema to take back. kUnavailable: the version is `now`, so another process migrates.
Status check_can_take_back(const SchemaStatus& seen, std::int64_t now);
// kDenied: `rows` rows would be lost. `noun`: for messages, for example "run(s)".
Status check_loss(std::int64_t rows, std::string_view noun);

// kUnavailable: a live lease holds one of the phases, by the rule of claims (lease_is_live()). An idle executor
// holds none; it sees the new schema at its next transaction. `held`: phases with a lease; only their ids and the
// lease are read.
Status check_nobody_works(const std::vector<PhaseRow>& held, const OwnerIsDead& owner_is_dead);

struct OpenEnd {
  std::string run_id, chain;
  std::int64_t rows = 0;
  std::string head;  // hash of the last row
};
// Whether a database of this version has ends of chains without seals.
bool lacks_seals(std::int64_t version);
// The seals of the ends as they are, in the same order. Only a migration seals rows of older versions, and only
// because a person asks for it. An attacker who clears a seal later leaves an end that no seal fits. kInvalid:
// there is an end and no sealer.
Result<std::vector<std::string>> seals_of(const std::vector<OpenEnd>& ends, const RowSealer* sealer);

}  // namespace pawl::store
