// Checks that intact rows agree with each other: the ends of phases in the run's chain, and the work that
// their attempts were judged on. A detail of this room. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ledger/chain.h"
#include "ledger/ledger.h"

namespace pawl::ledger {

inline constexpr const char* kRunFile = "run.jsonl";

struct RunRows {
  std::vector<Problem> problems;
  std::vector<Lack> lacks;  // rows that the run's chain lacks
};
// `chains` is keyed by phase, with "" for the run. REQUIRES: each chain is intact.
RunRows check_run_rows(const Files& files, const std::map<std::string, Chain>& chains);

// The path of a phase's chain in an export.
std::string phase_file(const std::string& phase_id);

}  // namespace pawl::ledger
