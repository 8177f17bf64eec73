// Decisions about attempts, as the ledger has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/reader.h"

namespace pawl::views {

// The type of a row, as far as decisions need it. kStart: the start of an agent, which says whether it goes on in the
// work of the attempt before. kNone: the row is not a decision.
enum class DecisionType { kNone, kStart, kResume, kWait, kDoctor, kReplan, kOperator };
DecisionType decision_type(const Json& row);

// Returns the rows resume, waited, doctor and replan of one phase, in order, without the members that belong to the
// chain.
Result<Json> decisions_of(store::EvidenceReader& store, const std::string& run_id,
                          const std::string& phase_id);

// One of those rows, or an operator's, with the number of the newest attempt when it was written; 0 before
// the first attempt.
struct Decision {
  std::int64_t attempt = 0;
  Json row;
};
// Returns the decisions about the attempts `first` to `last` of a phase, and those of operators between them.
// The cost depends on the result and not on the length of the chain: a binary search finds their place in it.
Result<std::vector<Decision>> decisions_about(store::EvidenceReader& store, const std::string& run_id,
                                              const std::string& phase_id, std::int64_t first,
                                              std::int64_t last);
// Returns what operators decided about a run as a whole, oldest first. Reads the newest `rows_max` rows of
// the run's chain.
Result<std::vector<Json>> operators_of_run(store::EvidenceReader& store, const std::string& run_id,
                                           std::int64_t rows_max);

}  // namespace pawl::views
