// Compares the columns that people see in `pawl inspect` and in the report, and on which no decision depends:
// causes, counts, steps, episodes, the origin of a fork. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "ledger/rows.h"
#include "ledger/tables.h"

namespace pawl::ledger {

// Returns, in words, where the tables differ from the rows of the run's chain. A member that rows of older
// versions lack is not compared. Pure.
std::vector<std::string> differences_of_run(const Rows& run, const Tables& tables);
// The same for a phase and its chain. While a phase goes on, the tables may have steps that `chain`, read
// earlier, lacks. Pure.
std::vector<std::string> differences_of_phase(const Rows& chain, const store::PhaseRow& phase,
                                              const Tables& tables);

}  // namespace pawl::ledger
