// What was decided about attempts, as the ledger has it. Shared by inspect and stats.
#pragma once

#include <string>

#include "base/json.h"
#include "store/store.h"

namespace pawl::cli {

// The rows resume, doctor and replan of one phase, in order, without what belongs to the chain.
Result<Json> decisions_of(store::Store& store, const std::string& run_id, const std::string& phase_id);

}  // namespace pawl::cli
