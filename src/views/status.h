// Runs and their phases as they stand now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "views/accepted.h"
#include "views/provider_wait.h"
#include "views/questions.h"
#include "views/seen.h"
#include "views/views.h"
#include "views/waits.h"

namespace pawl::views {

struct RunStatus {
  store::RunRow run;
  std::vector<store::TierRow> tiers;
  std::vector<store::PhaseRow> phases;  // by tier_index, phase_index
  std::vector<store::BudgetRow> budgets;
  std::optional<store::ForkPoint> forked_from;
  std::vector<OpenQuestion> questions;
  // kNothing, kPerson or kBudget: what only a person can change. reason.h has all of it, and takes longer.
  WaitsFor waits_for = WaitsFor::kNothing;
  std::optional<store::BudgetRow> spent;  // with kBudget
  std::string failed_phase;               // the first FAILED phase, with kPerson; "" when an agent asks
  bool has_work = false;                  // `failed_phase` has work that a person can approve
  ProviderWaits waits;                    // until a time, or with kPerson also for a person
  std::optional<SeenInPart> seen_in_part;
  std::optional<NotJudgedWith> not_judged_with;
};
// kNotFound: there is no such run.
Result<RunStatus> status_of(const State& state, const std::string& run_id);

// The object of `pawl status RUN --json`. A phase has {not_judged_with: [phase_id]} when the run's accepted work
// was not judged as a whole.
Json to_json(const RunStatus& status);
// The object of `pawl status --json`: {runs}.
Json to_json(const std::vector<store::RunRow>& runs);

// The object of `pawl run --json` for a run that it leaves, without the exit code: {run_id, state, phases,
// ledger_head}, and {seen_in_part} when no gate saw its work as a whole.
Json summary_json(store::Reader& store, const store::RunRow& run, const std::optional<SeenInPart>& seen);
// The hash of the run's last row, as the newest signed head names it; "" when there is none.
std::string ledger_head(store::EvidenceReader& store, const std::string& run_id);

}  // namespace pawl::views
