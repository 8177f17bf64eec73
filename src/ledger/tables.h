// The tables of a run beside its ledger's rows. Readers and the next claim act on them, so they are compared
// with the rows. A detail of this room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/ledger.h"
#include "store/reader.h"

namespace pawl::ledger {

struct Tables {
  store::RunRow run;
  std::string plan_text;
  // Plan rows by phase, and by "" for what belongs to no phase. A row that is not there is "".
  std::map<std::string, std::string> planned;
  std::vector<store::PhaseRow> phases;
  std::vector<store::LayerRow> layers;  // accepted
  // By phase, for phases with attempts: the attempts, and for each step with a result its sandbox_run_id and
  // the BLAKE3 of the result.
  std::map<std::string, std::vector<store::AttemptRow>> attempts;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> results;
  // By phase: steps without their results, and episodes. People see them; no decision depends on them.
  std::map<std::string, std::vector<store::StepRow>> steps;
  std::map<std::string, std::vector<store::EpisodeRow>> episodes;
  std::optional<store::ForkPoint> fork;
  std::vector<store::TierRow> tiers;
  std::vector<store::BudgetRow> budgets;
  std::vector<store::StepRow> unsettled;  // ended steps that still hold reservations
};
// Reads the tables of a run. For one state of them, call it inside Store::read_together().
Result<Tables> tables_of(store::Reader& store, const std::string& run_id);

// False: the planned row of the run is of an older version, and does not say where the source is.
bool says_source(const Tables& tables);

// Returns where the tables contradict the rows, as problems of the file os::kDatabaseFile. A member that rows of
// older versions lack is not compared. REQUIRES: `files` verify. Pure.
std::vector<Problem> contradictions(const Files& files, const Tables& tables);

}  // namespace pawl::ledger
