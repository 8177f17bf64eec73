// What tables say of a run beyond what decides: causes, numbers, steps, episodes, a fork. People see it in
// `pawl inspect` and in the report. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "ledger/rows.h"
#include "ledger/tables.h"

namespace pawl::ledger {

// What the tables say otherwise than the rows of the run's chain, in words. What rows of older versions lack
// is not compared. Pure.
std::vector<std::string> differences_of_run(const Rows& run, const Tables& tables);
// The same of a phase and its chain. Steps of a phase that goes on may be in the tables before its rows are
// read.
std::vector<std::string> differences_of_phase(const Rows& chain, const store::PhaseRow& phase,
                                              const Tables& tables);

}  // namespace pawl::ledger
