// A chain's rows as values, for those who compare and attest what they say. A detail of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pawl::ledger {

using Rows = std::vector<Json>;

Result<Rows> rows_of(std::string_view text);

const Json* newest_of_type(const Rows& rows, std::string_view type);  // nullptr: there is none
// The newest seal of a phase in the run's chain, else what a fork's row says of it; nullptr when neither is
// there. `is_shared` becomes whether it is the latter.
const Json* seal_of(const Rows& run, std::string_view phase_id, bool* is_shared = nullptr);

}  // namespace pawl::ledger
