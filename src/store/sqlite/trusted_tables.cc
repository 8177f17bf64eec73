// Tables say what is run, on what, and what counts as over. So they are compared with the rows that were
// checked (trust.cc) before anything is built upon them, and before what they say is signed. Rows of older
// versions say less: what they do not say is taken as it is.
#include <algorithm>
#include <set>

#include "base/hash.h"
#include "os/walls.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store::sqlite {
namespace {

std::unexpected<Error> contradicted(const std::string& run_id, const std::string& what) {
  return fail(ErrorKind::kForged, "the tables of run " + run_id + " are not what its ledger says: " + what +
                                      ". Nothing was written; see `pawl verify " + run_id +
                                      "`, and restore the state folder from a backup");
}

EndedPhases ended_of(const Trusted& known) {
  EndedPhases out = known.ended;
  out.add(known.own_ended);
  return out;
}

}  // namespace

Status SqliteStore::check_claim(const Claim& claim) {
  const std::string& run_id = claim.run.run_id;
  PAWL_TRY(const auto* known, trust(run_id));
  const Json& started = known->started;
  const auto differs = [&](const char* key, const std::string& value) {
    return started.contains(key) && text_in(started, key) != value;
  };
  if (differs("workflow_id", claim.run.workflow_id) || differs("plan_content", claim.run.plan_content) ||
      differs("base_id", claim.run.base_id) || differs("base_commit", claim.run.base_commit) ||
      differs("backend", claim.run.backend))
    return contradicted(run_id, "its row is not what it was started with");
  if (const auto planned = started.find("planned"); planned != started.end()) {
    const bool same = (claim.common.empty() || text_in(*planned, "") == blake3_hex(claim.common)) &&
                      text_in(*planned, claim.phase.phase_id.c_str()) == blake3_hex(claim.planned);
    if (!same) return contradicted(run_id, "its planned rows are not those that it was started with");
  }
  PAWL_OK(check_goal(claim));
  return check_tables(run_id);
}

// Once for all that nobody else has written since.
Status SqliteStore::check_tables(const std::string& run_id) {
  PAWL_TRY([[maybe_unused]] const auto* trusted, trust(run_id));
  auto& known = trusted_.at(run_id);
  if (known.tables_epoch == memory_.epoch || !os::walls().signer) return {};
  const auto ended = ended_of(known);
  PAWL_TRY(const auto layers, accepted_layers(run_id));
  if (const auto phase_id = ended.contradicted_by(layers))
    return contradicted(run_id, "the accepted work of phase " + *phase_id);
  PAWL_OK(check_ends(run_id, ended));
  auto caps = known.own_caps;
  caps.insert(known.caps.begin(), known.caps.end());
  PAWL_TRY(const auto budgets, known_budgets(run_id));
  for (const auto& [unit, cap] : caps)
    if (of_unit(budgets, unit).cap != cap) return contradicted(run_id, "its budget of " + unit);
  known.tables_epoch = memory_.epoch;
  return {};
}

// Phases that are over by their rows are over in the table, and no others.
Status SqliteStore::check_ends(const std::string& run_id, const EndedPhases& ended) {
  std::set<std::string> over;
  {
    PAWL_TRY(auto query, connection_->query("ended_phases"));
    query.bind(run_id);
    for (;;) {
      PAWL_TRY(const bool more, query.next());
      if (!more) break;
      const auto* end = ended.end_of(query.text(0));
      if (end == nullptr || end->state != query.view(1) || end->outcome != query.view(2))
        return contradicted(run_id, "the end of phase " + query.text(0));
      over.insert(query.text(0));
    }
  }
  for (const auto& [phase_id, end] : ended.ends()) {
    if (over.contains(phase_id)) continue;
    // An operator who queues it again does so in a row.
    PAWL_TRY(const auto last, chain_head(run_id, phase_id));
    if (last.rows <= end.end.rows) return contradicted(run_id, "phase " + phase_id + " is over");
  }
  return {};
}

// The run is to be sealed. `heads` are the ends of the chains of `phases`, which are all.
Status SqliteStore::check_seals(const std::string& run_id, const std::vector<PhaseRow>& phases,
                                const std::vector<ChainHead>& heads) {
  if (!os::walls().signer) return {};
  PAWL_TRY(const auto* known, trust(run_id));
  const auto ended = ended_of(*known);
  const auto& listed = list_in(known->started, "phases");
  const bool all = std::ranges::equal(
      listed, phases, [](const Json& id, const PhaseRow& phase) { return id == Json(phase.phase_id); });
  if (!all) return contradicted(run_id, "its phases are not those that it was started with");
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto* end = ended.end_of(phases[i].phase_id);
    const bool is_sealed = end != nullptr && is_end_of(*end, phases[i]) && end->end.rows == heads[i].rows &&
                           end->end.head == heads[i].head;
    if (!is_sealed) return contradicted(run_id, "no row ends phase " + phases[i].phase_id + " as it is");
  }
  return {};
}

// A replanner's goal is in a row of the phase, or of the phase that the run was forked from.
Status SqliteStore::check_goal(const Claim& claim) {
  if (claim.phase.revision == 0 || !os::walls().signer) return {};
  const std::string& phase_id = claim.phase.phase_id;
  PAWL_TRY(auto said, goals_of(claim.run.run_id, phase_id));
  const bool own = !said.empty();
  if (own) said.erase(said.begin(), said.end() - 1);  // the newest
  for (std::string run_id = claim.run.run_id; said.empty();) {
    PAWL_TRY(const auto* known, trust(run_id));
    if (!known->forked || known->forked->phase_id != phase_id) break;
    run_id = known->forked->run_id;
    PAWL_TRY(said, goals_of(run_id, phase_id));
  }
  const bool is_said = std::ranges::find(said, claim.revised_goal) != said.end();
  if (is_said || (!own && claim.revised_goal.empty())) return {};
  return contradicted(claim.run.run_id, "the goal of phase " + phase_id);
}

// By the rows of replanners that were followed, the oldest first. The whole chain is checked.
Result<std::vector<std::string>> SqliteStore::goals_of(const std::string& run_id,
                                                       const std::string& phase_id) {
  PAWL_TRY(const auto end, chain_head(run_id, phase_id));
  std::vector<std::string> out;
  std::string prev(kZeroHash);
  std::int64_t rows = 0;
  PAWL_TRY(auto query, connection_->query("ledger_rows"));
  query.bind(run_id).bind(phase_id).bind(std::int64_t{1}).bind(std::int64_t{-1});
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) break;
    const LedgerRow row{
        .chain = phase_id, .seq = query.number(1), .hash = query.text(2), .line = query.text(3)};
    if (row.seq != ++rows || !sealer_->continues(row, prev)) break;
    prev = row.hash;
    if (row.line.find("\"type\":\"replan\"") == std::string::npos) continue;
    PAWL_TRY(const auto json, parse_json(row.line));
    if (text_in(json, "type") == "replan" && integer_in(json, "revision") > 0)
      out.push_back(text_in(json, "goal"));
  }
  if (prev != end.head) return contradicted(run_id, "the chain of phase " + phase_id);
  return out;
}

}  // namespace pawl::store::sqlite
