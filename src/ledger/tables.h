// What a database says of a run beside its ledger's rows: readers and the next claim act on it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/ledger.h"
#include "store/store.h"

namespace pawl::ledger {

struct Tables {
  store::RunRow run;
  std::string plan_text;
  std::map<std::string, std::string> planned;  // rows of the plan by phase; "" what is of none
  std::vector<store::PhaseRow> phases;
  std::vector<store::LayerRow> layers;  // accepted
  // By phase, of those that have any: attempts; and of steps that ended their sandbox_run_id and the BLAKE3
  // of their result.
  std::map<std::string, std::vector<store::AttemptRow>> attempts;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> results;
  // By phase: steps without their results, and episodes. They are shown, and decide nothing.
  std::map<std::string, std::vector<store::StepRow>> steps;
  std::map<std::string, std::vector<store::EpisodeRow>> episodes;
  std::optional<store::ForkPoint> fork;
  std::vector<store::TierRow> tiers;
  std::vector<store::BudgetRow> budgets;
};
Result<Tables> tables_of(store::Store& store, const std::string& run_id);

// Where the tables contradict the rows, as problems of the file "pawl.db". What rows of older versions do not
// say is not compared. REQUIRES: `files` verify. Pure.
std::vector<Problem> contradictions(const Files& files, const Tables& tables);

}  // namespace pawl::ledger
