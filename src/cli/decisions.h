// What was decided about attempts, as the ledger has it. Shared by inspect, report and stats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace pawl::cli {

// The rows resume, doctor and replan of one phase, in order, without what belongs to the chain.
Result<Json> decisions_of(store::Store& store, const std::string& run_id, const std::string& phase_id);

// One of those rows, or an operator's, and the number of the newest attempt when it was written: 0 before
// the first.
struct Decision {
  std::int64_t attempt = 0;
  Json row;
};
// The decisions about the attempts `first` to `last` of a phase, and those of operators between them. Costs
// what they cost, however long the chain is: their place in it is found by halving.
Result<std::vector<Decision>> decisions_about(store::Store& store, const std::string& run_id,
                                              const std::string& phase_id, std::int64_t first,
                                              std::int64_t last);
// What operators decided about a run as a whole, oldest first: of the newest `rows_max` rows of its chain.
Result<std::vector<Json>> operators_of_run(store::Store& store, const std::string& run_id,
                                           std::int64_t rows_max);

// One line for people. Holds what hooks and operators wrote: see visible().
std::string decision_text(const Json& decision);

}  // namespace pawl::cli
