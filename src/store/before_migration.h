// The decisions of a migration about what older versions left: whether the runs let it begin, and how the ends
// of chains are sealed. A driver reads and writes the rows. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/row_sealer.h"
#include "store/rows.h"
#include "store/store.h"

namespace pawl::store {

// kUnavailable: a live lease holds one of the phases, by the rule of claims (lease_is_live()). An idle executor
// holds none; it sees the new schema at its next transaction. `held`: phases with a lease; only their ids and the
// lease are read.
Status check_nobody_works(const std::vector<PhaseRow>& held, const OwnerIsDead& owner_is_dead);

struct OpenEnd {
  std::string run_id, chain;
  std::int64_t rows = 0;
  std::string head;  // hash of the last row
};
// The seals of the ends as they are, in the same order. Only a migration seals rows of older versions, and only
// because a person asks for it. An attacker who clears a seal later leaves an end that no seal fits. kInvalid:
// there is an end and no sealer.
Result<std::vector<std::string>> seals_of(const std::vector<OpenEnd>& ends, const RowSealer* sealer);

}  // namespace pawl::store
