// Tables decide which steps run, on which work, and which phases have ended. So they are compared with the
// checked rows (trust.cc) before a verb builds on them, and before their content is signed. Rows of older
// versions lack some members; tables are taken as they are there.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/mutant.h"
#include "os/defences.h"
#include "store/ledger_rows.h"
#include "store/step_rows.h"
#include "store/verbs/reading_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool compares_no_accepted_work() { return mutant("accepted_work_not_compared"); }
bool compares_no_caps() { return mutant("caps_not_compared"); }
bool compares_no_reservations() { return mutant("reservations_not_compared"); }
bool compares_no_state() { return mutant("run_state_not_compared"); }
bool compares_no_previous_attempt() { return mutant("previous_attempt_not_compared"); }
bool compares_no_ends() { return mutant("ends_not_compared"); }

std::unexpected<Error> contradicted(const std::string& run_id, const std::string& what) {
  return fail(ErrorKind::kForged, "the tables of run " + run_id + " are not what its ledger says: " + what +
                                      ". Nothing was written; see `pawl verify " + run_id +
                                      "`, and restore the state folder from a backup");
}

// True: the row that ended the attempt agrees with the table. A member that the row lacks is not compared.
bool says(const Json& row, const AttemptRow& attempt) {
  const auto of_table = parse_json(attempt_row(attempt, {}).object());
  return of_table && text_in(row, "attempt_id") == attempt.attempt_id &&
         std::ranges::all_of(of_table->items(), [&](const auto& member) {
           return !row.contains(member.key()) || row.at(member.key()) == member.value();
         });
}

// How the agent of an attempt ended, by the rows of its steps.
struct AgentByRows {
  std::optional<AgentEnd> end;
  std::string began_on;

  void note(const std::string& type, const Json& row) {
    if (type == "pre_execute" && row.contains("layer")) began_on = text_in(row, "layer");
    // This execution begins anew, or the one after a lost one does.
    if (row.contains("not_continued")) began_on.clear();
    if (type != "executed") return;
    end = AgentEnd{.outcome = text_in(row, "outcome"),
                   .layer = text_in(row, "layer"),
                   .exit_code = integer_in(row, "exit_code"),
                   .began_on = began_on};
  }
};

std::string word_in(const Json& id) { return id.is_string() ? id.get<std::string>() : ""; }

EndedPhases ended_of(const Trusted& known) {
  EndedPhases out = known.ended;
  out.add(known.own_ended);
  return out;
}

}  // namespace

Status ReadingStore::check_run_row(const RunRow& row) {
  PAWL_TRY(const auto* known, trust(row.run_id));
  const auto differs = [&](const char* key, const std::string& value) {
    return known->started.contains(key) && text_in(known->started, key) != value;
  };
  const bool is_same = !differs("workflow_id", row.workflow_id) &&
                       !differs("plan_content", row.plan_content) && !differs("base_id", row.base_id) &&
                       !differs("base_commit", row.base_commit) && !differs("backend", row.backend) &&
                       !differs("at", row.created_at);
  return is_same ? Status() : contradicted(row.run_id, "its row is not what it was started with");
}

Status ReadingStore::check_claim(Claim& claim) {
  const std::string& run_id = claim.run.run_id;
  PAWL_OK(check_run_row(claim.run));
  const Json& started = trusted_.at(run_id).started;
  if (const auto planned = started.find("planned"); planned != started.end()) {
    const bool same = (claim.common.empty() || text_in(*planned, "") == blake3_hex(claim.common)) &&
                      text_in(*planned, claim.phase.phase_id.c_str()) == blake3_hex(claim.planned);
    if (!same) return contradicted(run_id, "its planned rows are not those that it was started with");
  }
  PAWL_OK(check_goal(claim));
  PAWL_OK(check_tables(run_id));
  PAWL_OK(check_order(claim.phase));
  PAWL_OK(check_attempts(claim.phase));
  PAWL_OK(check_no_episodes(claim.attempt));
  if (claim.continued) PAWL_OK(check_steps(claim));
  return compares_no_previous_attempt() ? Status() : check_previous(claim);
}

// One comparison serves until another connection commits.
Status ReadingStore::check_tables(const std::string& run_id) {
  PAWL_TRY([[maybe_unused]] const auto* trusted, trust(run_id));
  auto& known = trusted_.at(run_id);
  if (known.tables_epoch == memory_.epoch || !os::defences().signer) return {};
  PAWL_OK(check_open_ends(run_id));
  const auto ended = ended_of(known);
  PAWL_TRY(const auto layers, accepted_layers(run_id));
  if (const auto phase_id = ended.contradicted_by(layers); phase_id && !compares_no_accepted_work())
    return contradicted(run_id, "the accepted work of phase " + *phase_id);
  PAWL_OK(check_source(run_id, known.started));
  PAWL_OK(check_places(run_id, known.started));
  known.first_open = 0;
  if (!compares_no_ends()) PAWL_OK(check_ends(run_id, ended));
  auto caps = known.own_caps;
  caps.insert(known.caps.begin(), known.caps.end());
  PAWL_TRY(const auto budgets, known_budgets(run_id));
  if (const auto unit = cap_contradicted(known.started, caps, budgets); !unit.empty() && !compares_no_caps())
    return contradicted(run_id, "its budget of " + std::string(unit));
  known.tables_epoch = memory_.epoch;
  return {};
}

// Work is committed into the source's folder. Only the planned row of the run says where it is.
Status ReadingStore::check_source(const std::string& run_id, const Json& started) {
  const auto planned = started.find("planned");
  if (planned == started.end()) return {};
  PAWL_TRY(const auto common, planned_common(run_id));
  if (common.empty()) {
    PAWL_TRY(auto query, database_->query("any_planned_phase"));
    query.bind(run_id);
    PAWL_TRY(const bool found, query.next());
    // Without any row, the caller makes all of them again as the ledger names them, or the verb fails.
    return found ? contradicted(run_id, "its planned row is gone") : Status();
  }
  if (text_in(*planned, "") != blake3_hex(common)) return contradicted(run_id, "its planned row");
  PAWL_TRY(const auto row, run(run_id));
  const auto source = source_folder_of(common);
  return source.empty() || source == row.source_path ? Status() : contradicted(run_id, "its source's folder");
}

// Rows count the calls of each phase. The run has their sum, which is limited too.
Status ReadingStore::check_doctor_calls(const std::string& run_id) {
  if (!os::defences().signer) return {};
  PAWL_TRY(auto query, database_->query("doctor_calls_of_run"));
  query.bind(run_id);
  PAWL_TRY([[maybe_unused]] const bool found, query.next());
  return query.number(0) == query.number(1) ? Status() : contradicted(run_id, "its calls of the doctor");
}

// The places decide which phases wait for which, and whose work a phase sees.
Status ReadingStore::check_places(const std::string& run_id, const Json& started) {
  PlacesByRows places(started);
  if (!places.are_said()) return {};
  PAWL_TRY(const auto found, tiers(run_id));
  if (!are_tiers_of(started, found)) return contradicted(run_id, "its tiers");
  PAWL_TRY(auto query, database_->query("places_of_phases"));
  query.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) break;
    if (!places.is_next(query.view(0), query.number(1), query.number(2)))
      return contradicted(run_id, "the place of phase " + query.text(0));
  }
  return places.is_end() ? Status() : contradicted(run_id, "the list of its phases");
}

// The head has the amounts spent when it was signed; the rows after it have the later amounts. A head of an
// older version lacks them.
Status ReadingStore::check_spent(const std::string& run_id, const std::vector<BudgetRow>& budgets) {
  // Verbs of this transaction compared the amounts before they wrote.
  if (writes_unsigned(run_id) || !os::defences().signer) return {};
  PAWL_TRY(const auto* known, trust(run_id));
  if (!known->spent) return {};  // an older head, or a new run without a head
  PAWL_OK(check_open_ends(run_id));
  auto spent = *known->spent;
  PAWL_TRY(auto open, database_->query("open_chains_of_run"));
  open.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool more, open.next());
    if (!more) break;
    const auto listed = known->listed.find(open.text(0));
    PAWL_TRY(auto rows, database_->query("ledger_rows"));
    rows.bind(run_id).bind(open.view(0)).bind(listed == known->listed.end() ? 1 : listed->second.rows + 1);
    rows.bind(std::int64_t{-1});
    for (;;) {
      PAWL_TRY(const bool row, rows.next());
      if (!row) break;
      if (const auto json = parse_json(rows.view(3))) spent.add(*json);
    }
  }
  if (const auto unit = spent.contradicted_by(budgets); !unit.empty())
    return contradicted(run_id, "what is spent of its budget of " + std::string(unit));
  return {};
}

// A forged reservation would let a run wait for ever, or spend more than its cap.
Status ReadingStore::check_reserved(const std::string& run_id, const std::vector<BudgetRow>& budgets) {
  if (!os::defences().signer) return {};
  std::vector<StepRow> holders;
  PAWL_TRY(auto open, database_->query("open_steps_of_run"));
  open.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool more, open.next());
    if (!more) break;
    PAWL_TRY(auto step, read_step(open));
    holders.push_back(std::move(step));
  }
  PAWL_TRY(auto owed, unsettled(run_id));
  for (auto& each : owed) {
    each.step.reserved_ms = 0;  // settled with the end of the step
    holders.push_back(std::move(each.step));
  }
  const auto unit = reserved_contradicted(budgets, holders);
  return unit.empty() || compares_no_reservations()
             ? Status()
             : contradicted(run_id, "the reserved amount of " + std::string(unit));
}

Status ReadingStore::check_no_episodes(const AttemptRow& attempt) {
  if (!os::defences().signer) return {};
  PAWL_TRY(auto query, database_->query("any_episode_of_attempt"));
  query.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.attempt_id);
  PAWL_TRY(const bool found, query.next());
  return found ? contradicted(attempt.run_id, "the episodes of attempt " + attempt.attempt_id) : Status();
}

// One comparison serves until another connection commits: only this store writes until then.
Status ReadingStore::check_attempts(const PhaseRow& phase) {
  if (memory_.tried.contains(key_of(phase.run_id, phase.phase_id)) || !os::defences().signer) return {};
  PAWL_TRY(const auto* known, trust(phase.run_id));
  const bool inherits = known->forked && known->forked->phase_id == phase.phase_id;
  AttemptsByRows said(attempts_planned(known->started, phase.tier_index, phase.phase_index), inherits);
  PAWL_OK(each_checked_row(phase.run_id, phase.phase_id, [&](const LedgerRow& row) -> Status {
    PAWL_TRY(const auto json, parse_json(row.line));
    said.add(json);
    return {};
  }));
  if (const auto column = said.contradicted_by(phase, 1); !column.empty())
    return contradicted(phase.run_id, std::string(column) + " of phase " + phase.phase_id);
  memory_.tried.insert(key_of(phase.run_id, phase.phase_id));
  return {};
}

// A phase has ended in the table exactly when its rows end it.
Status ReadingStore::check_ends(const std::string& run_id, const EndedPhases& ended) {
  std::set<std::string> over;
  {
    PAWL_TRY(auto query, database_->query("ended_phases"));
    query.bind(run_id);
    for (;;) {
      PAWL_TRY(const bool more, query.next());
      if (!more) break;
      const auto* end = ended.end_of(query.text(0));
      // Rows after the seal open the phase again, until the next seal.
      const bool is_sealed = end != nullptr && end->end.rows == query.number(3);
      if (!is_sealed || end->state != query.view(1) || end->outcome != query.view(2))
        return contradicted(run_id, "the end of phase " + query.text(0));
      over.insert(query.text(0));
    }
  }
  for (const auto& [phase_id, end] : ended.ends()) {
    if (over.contains(phase_id)) continue;
    // An operator who queues it again writes a row after its end.
    PAWL_TRY(const auto last, chain_head(run_id, phase_id));
    if (last.rows <= end.end.rows) return contradicted(run_id, "phase " + phase_id + " is over");
  }
  auto& known = trusted_.at(run_id);
  const auto& listed = list_in(known.started, "phases");
  const auto first =
      std::ranges::find_if_not(listed, [&](const Json& id) { return over.contains(word_in(id)); });
  known.first_open = static_cast<std::size_t>(first - listed.begin());
  return {};
}

// A run is over exactly when its rows end all of its phases.
Status ReadingStore::check_state(const std::string& run_id) {
  if (!os::defences().signer) return {};
  PAWL_OK(check_tables(run_id));
  PAWL_TRY(const auto row, run(run_id));
  PAWL_OK(check_run_row(row));
  const auto& known = trusted_.at(run_id);
  PAWL_TRY(const auto open, first_open(run_id));
  auto by_rows = RunState::kExecuting;
  if (open == list_in(known.started, "phases").size()) {
    PAWL_TRY(by_rows, ended_of(known).state_of_run(known.started));
  }
  return row.state == by_rows || compares_no_state() ? Status() : contradicted(run_id, "its state");
}

// Called before the run is sealed. `phases` are all its phases, `heads` the ends of their chains.
Status ReadingStore::check_seals(const std::string& run_id, const std::vector<PhaseRow>& phases,
                                 const std::vector<ChainHead>& heads) {
  if (!os::defences().signer) return {};
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

// A replanner's goal must be in a row of the phase, or of the same phase in the run that was forked.
Status ReadingStore::check_goal(const Claim& claim) {
  if (claim.phase.revision == 0 || !os::defences().signer) return {};
  const std::string& phase_id = claim.phase.phase_id;
  PAWL_TRY(auto said, goals_of(claim.run.run_id, phase_id));
  const bool own = !said.empty();
  if (own) said.erase(said.begin(), said.end() - 1);  // the newest goal stays
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

// Returns the goals in the rows of replans that were applied, oldest first.
Result<std::vector<std::string>> ReadingStore::goals_of(const std::string& run_id,
                                                        const std::string& phase_id) {
  std::vector<std::string> out;
  PAWL_OK(each_checked_row(run_id, phase_id, [&](const LedgerRow& row) -> Status {
    if (row.line.find("\"type\":\"replan\"") == std::string::npos) return {};
    PAWL_TRY(const auto json, parse_json(row.line));
    if (text_in(json, "type") == "replan" && integer_in(json, "revision") > 0)
      out.push_back(text_in(json, "goal"));
    return {};
  }));
  return out;
}

Status ReadingStore::each_checked_row(const std::string& run_id, const std::string& phase_id,
                                      const std::function<Status(const LedgerRow&)>& visit) {
  PAWL_TRY(const auto end, chain_head(run_id, phase_id));
  if (end.rows == 0) return {};
  std::string prev(kZeroHash);
  std::int64_t rows = 0;
  PAWL_TRY(auto query, database_->query("ledger_rows"));
  query.bind(run_id).bind(phase_id).bind(std::int64_t{1}).bind(std::int64_t{-1});
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) break;
    const LedgerRow row{
        .chain = phase_id, .seq = query.number(1), .hash = query.text(2), .line = query.text(3)};
    if (row.seq != ++rows || !sealer_->continues(row, prev)) break;
    prev = row.hash;
    PAWL_OK(visit(row));
  }
  return prev == end.head ? Status() : contradicted(run_id, "the chain of phase " + phase_id);
}

// By the rows, no attempt ended before this one that its agent could go on from.
Status ReadingStore::check_is_first(const Claim& claim) {
  const std::string &run_id = claim.run.run_id, &phase_id = claim.phase.phase_id;
  PAWL_TRY(const auto* known, trust(run_id));
  bool is_first = !known->forked || known->forked->phase_id != phase_id || known->forked->attempt <= 1;
  PAWL_OK(each_checked_row(run_id, phase_id, [&](const LedgerRow& row) -> Status {
    is_first = is_first && row.line.find("\"type\":\"attempt\"") == std::string::npos;
    return {};
  }));
  return is_first ? Status() : contradicted(run_id, "the attempts of phase " + phase_id);
}

// Rows bound the waits. Each wait frees an execution of its step, so the table must have no other ones.
Result<WaitsSoFar> ReadingStore::waits_of(const Claim& claim) {
  std::set<std::string> waited;
  for (const auto& step : claim.steps)
    if (has_waited(step)) waited.insert(step.sandbox_run_id);
  WaitsSoFar out;
  if (waited.empty()) return out;
  PAWL_OK(each_checked_row(claim.run.run_id, claim.phase.phase_id, [&](const LedgerRow& row) -> Status {
    if (row.line.find("\"type\":\"waited\"") == std::string::npos) return {};
    PAWL_TRY(const auto json, parse_json(row.line));
    const auto wait = wait_in(json);
    if (!wait || text_in(json, "attempt_id") != claim.attempt.attempt_id) return {};
    ++out.count;
    out.waited_ms += wait->delay_ms;
    out.backoffs += wait->source == kWaitOfBackoff ? 1 : 0;
    waited.erase(text_in(json, "sandbox_run_id"));
    return {};
  }));
  if (waited.empty() || !os::defences().signer) return out;
  return contradicted(claim.run.run_id, "the waits of attempt " + claim.attempt.attempt_id);
}

// An executor goes on from the results of the steps that ended, and from what was decided of those that were
// lost.
Status ReadingStore::check_steps(const Claim& claim) {
  if (!os::defences().signer) return {};
  StepsByRows said(claim.attempt.attempt_id);
  PAWL_OK(each_checked_row(claim.run.run_id, claim.phase.phase_id, [&](const LedgerRow& row) -> Status {
    PAWL_TRY(const auto json, parse_json(row.line));
    said.add(json);
    return {};
  }));
  if (const auto what = said.contradicted_by(claim.attempt, claim.steps); !what.empty())
    return contradicted(claim.run.run_id, what + " of attempt " + claim.attempt.attempt_id);
  return {};
}

Result<KeptLayers> ReadingStore::kept_of(const Claim& claim) {
  KeptLayers out;
  if (claim.steps.empty()) return out;
  PAWL_OK(each_checked_row(claim.run.run_id, claim.phase.phase_id, [&](const LedgerRow& row) -> Status {
    return note_kept_layer(row, claim.attempt.attempt_id, out);
  }));
  return out;
}

// An agent works on what the previous attempt left: its work, the output of its steps, and its feedback. For
// the first attempt of a fork, that attempt belongs to another run.
Status ReadingStore::check_previous(Claim& claim) {
  if (!os::defences().signer) return {};
  if (!claim.previous) return check_is_first(claim);
  const auto& previous = *claim.previous;
  PAWL_TRY(const auto steps, steps_of_attempt(previous.run_id, previous.attempt_id));
  std::map<std::string, std::string> results;
  for (const auto& step : steps)
    if (step.state == StepState::kDone) results[step.sandbox_run_id] = blake3_hex(step.run);
  const bool is_of_fork = previous.run_id != claim.run.run_id;
  PAWL_TRY(const auto* known, trust(claim.run.run_id));
  if (is_of_fork && (!known->forked || known->forked->run_id != previous.run_id ||
                     known->forked->attempt != previous.number + 1))
    return contradicted(claim.run.run_id, "what the run was forked from");
  const std::string its_id = "\"attempt_id\":\"" + previous.attempt_id + "\"";
  const std::string of_agent = previous.phase_id + "." + std::string(kAgentGate) + ".";
  AgentByRows agent;
  bool is_named = false, is_same = true, is_newest = false;
  PAWL_OK(each_checked_row(previous.run_id, previous.phase_id, [&](const LedgerRow& row) -> Status {
    if (row.line.find("\"type\":\"attempt\"") != std::string::npos) is_newest = false;
    if (row.line.find(its_id) == std::string::npos) return {};
    PAWL_TRY(const auto json, parse_json(row.line));
    const std::string type = text_in(json, "type"), id = text_in(json, "sandbox_run_id");
    if (text_in(json, "label").starts_with(of_agent)) agent.note(type, json);
    if (type == "executed") {
      is_same = is_same && (!json.contains("run") || text_in(json, "run") == results[id]);
      results.erase(id);
    } else if (type == "attempt") {
      is_named = is_newest = true;
      is_same = is_same && says(json, previous);
    }
    return {};
  }));
  claim.previous_agent = std::move(agent.end);
  if (is_named && is_same && results.empty() && (is_newest || is_of_fork)) return {};
  return contradicted(previous.run_id, "what attempt " + previous.attempt_id + " left to the next one");
}

}  // namespace pawl::store::verbs
