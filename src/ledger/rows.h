// The rows of a chain as values, for code that compares or attests them. A detail of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pawl::ledger {

using Rows = std::vector<Json>;

// Parses each line of a chain's text. Returns the error of the first line that is not JSON.
Result<Rows> rows_of(std::string_view text);

const Json* newest_of_type(const Rows& rows, std::string_view type);  // nullptr: there is none
// Returns the newest seal of a phase in the run's chain, or else its entry in the `forked` row; nullptr
// without both. `is_shared` becomes true in the second case only.
const Json* seal_of(const Rows& run, std::string_view phase_id, bool* is_shared = nullptr);

}  // namespace pawl::ledger
