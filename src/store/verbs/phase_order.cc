// A table's columns and its indexes say which phase is the next one. Both can be forged, so a claim asks the rows.
#include <algorithm>

#include "os/defences.h"
#include "store/limits.h"
#include "store/verbs/reading_store.h"

namespace pawl::store::verbs {
namespace {

std::string id_at(const Json& phases, std::size_t place) {
  const Json& id = phases[place];
  return id.is_string() ? id.get<std::string>() : "";
}

}  // namespace

Result<bool> ReadingStore::is_over(const std::string& run_id, const std::string& phase_id) {
  PAWL_TRY(const auto* known, trust(run_id));
  const auto* end = known->own_ended.end_of(phase_id);
  if (end == nullptr) end = known->ended.end_of(phase_id);
  if (end == nullptr) return false;
  PAWL_TRY(const auto last, chain_head(run_id, phase_id));
  return last.rows <= end->end.rows;  // rows after its end open it again
}

Result<bool> ReadingStore::has_begun(const std::string& run_id, const std::string& phase_id) {
  bool begun = false;
  PAWL_OK(each_checked_row(run_id, phase_id, [&](const LedgerRow& row) -> Status {
    if (row.line.find("\"type\":\"attempt\"") != std::string::npos) begun = false;
    if (row.line.find("\"type\":\"pre_execute\"") != std::string::npos) begun = true;
    return {};
  }));
  return begun;
}

Result<std::size_t> ReadingStore::first_open(const std::string& run_id) {
  PAWL_TRY([[maybe_unused]] const auto* trusted, trust(run_id));
  auto& known = trusted_.at(run_id);
  const auto& listed = list_in(known.started, "phases");
  for (; known.first_open < listed.size(); ++known.first_open) {
    PAWL_TRY(const bool over, is_over(run_id, id_at(listed, known.first_open)));
    if (!over) break;
  }
  return known.first_open;
}

// By the rows, no open phase may come before `phase`, except in the same parallel tier. A phase that has begun goes
// on even when an operator has queued an earlier phase since.
Status ReadingStore::check_order(const PhaseRow& phase) {
  PAWL_TRY(const auto place, first_open(phase.run_id));
  const auto& known = trusted_.at(phase.run_id);
  const auto& listed = list_in(known.started, "phases");
  if (place >= std::min(known.tiers.size(), listed.size())) return {};
  const std::string first = id_at(listed, place);
  const auto first_tier = known.tiers[place];
  if (first == phase.phase_id || first_tier > phase.tier_index) return {};
  if (first_tier == phase.tier_index) {
    PAWL_TRY(const auto own, tier(phase.run_id, phase.tier_index));
    if (own.parallel) return {};
  }
  PAWL_TRY(const bool goes_on, has_begun(phase.run_id, phase.phase_id));
  if (goes_on || !os::defences().signer) return {};
  return fail(ErrorKind::kForged,
              "by the ledger of run " + phase.run_id + " phase " + phase.phase_id + " waits for phase " +
                  first + ", and its tables say otherwise. Nothing was written; see `pawl verify " +
                  phase.run_id + "`, and restore the state folder from a backup");
}

}  // namespace pawl::store::verbs
