#include "ledger/tables.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/hash.h"
#include "ledger/rows.h"
#include "ledger/shown.h"
#include "os/state_folder.h"
#include "store/ended_phases.h"
#include "store/limits.h"

namespace pawl::ledger {
namespace {

Result<Rows> rows_of_phase(const Files& files, const std::string& phase_id) {
  const auto chain = std::ranges::find(files.phases, phase_id, &std::pair<std::string, std::string>::first);
  return chain == files.phases.end() ? Result<Rows>(Rows()) : rows_of(chain->second);
}

class Comparison {
 public:
  Comparison(const Rows& rows, const Files& files, const Tables& tables)
      : rows_(rows), files_(files), tables_(tables) {
    for (const auto& row : rows) ended_.add(row);
    for (const auto& row : rows) store::note_cap(row, caps_);
    for (const auto& [phase_id, text] : files.phases) chain_rows_[phase_id] = std::ranges::count(text, '\n');
  }

  std::vector<Problem> run() {
    check_start();
    check_planned();
    check_state();
    check_times();
    check_list_of_phases();
    check_places();
    check_layers();
    for (const auto& phase : tables_.phases) check_phase(phase);
    for (const auto& phase : tables_.phases) check_attempts(phase);
    check_budget();
    check_shown();
    return std::move(problems_);
  }

 private:
  void contradicted(const std::string& what) {
    problems_.push_back({.kind = "forged",
                         .file = os::kDatabaseFile,
                         .row = 0,
                         .detail = what + " differs from the ledger's rows"});
  }

  // Compares the run and its plan with the first row.
  void check_start() {
    const Json& started = rows_.front();
    const auto check = [&](const char* key, const std::string& value, const char* what) {
      if (started.contains(key) && text_in(started, key) != value) contradicted(what);
    };
    check("run_id", tables_.run.run_id, "the run's id");
    check("workflow_id", tables_.run.workflow_id, "the workflow's id");
    check("plan_hash", blake3_hex(tables_.plan_text), "the plan");
    check("plan_content", tables_.run.plan_content, "the plan's folder");
    check("base_id", tables_.run.base_id, "the base");
    check("base_commit", tables_.run.base_commit, "the base's commit");
    check("backend", tables_.run.backend, "the backend");
    check("at", tables_.run.created_at, "the time of the run's start");
  }

  void check_planned() {
    const Json& started = rows_.front();
    const auto planned = started.find("planned");
    if (planned == started.end()) return;
    // A row that is gone is "", which no row names. Without any, a schema before version 11 may have been
    // there in between.
    if (std::ranges::all_of(tables_.planned, [](const auto& row) { return row.second.empty(); })) {
      problems_.push_back({.kind = "missing",
                           .file = os::kDatabaseFile,
                           .row = 0,
                           .detail = std::string(store::kPlannedRowsGone)});
      return;
    }
    const auto source = store::source_folder_of(tables_.planned.at(""));
    if (!source.empty() && source != tables_.run.source_path) contradicted("the source's folder");
    for (const auto& [phase_id, row] : tables_.planned)
      if (text_in(*planned, phase_id.c_str()) != blake3_hex(row))
        contradicted(phase_id.empty() ? "the planned row of the run" : "the planned row of " + phase_id);
  }

  // A run ends with its last phase: run_sealed is written in the same transaction.
  void check_state() {
    const auto sealed = newest_of_type(rows_, "run_sealed");
    const bool is_over = std::ranges::all_of(list_in(rows_.front(), "phases"), [&](const Json& id) {
      return id.is_string() && is_over_by_rows(id.get<std::string>());
    });
    const std::string state(name(tables_.run.state));
    if (state != (is_over && sealed != nullptr ? text_in(*sealed, "state") : "EXECUTING"))
      contradicted("the run's state");
  }

  // A run keeps the time of its end when usage is settled later, and the run is sealed again for that.
  void check_times() {
    const std::string& ended_at = tables_.run.ended_at;
    const bool is_said = std::ranges::any_of(rows_, [&](const Json& row) {
      return text_in(row, "type") == "run_sealed" && text_in(row, "at") == ended_at;
    });
    const bool goes_on = tables_.run.state == store::RunState::kExecuting;
    if (goes_on ? !ended_at.empty() : !is_said) contradicted("the time of the run's end");
  }

  void check_list_of_phases() {
    const auto same = [](const Json& id, const store::PhaseRow& phase) { return id == Json(phase.phase_id); };
    if (!std::ranges::equal(list_in(rows_.front(), "phases"), tables_.phases, same))
      contradicted("the list of phases");
  }

  void check_places() {
    if (!store::are_tiers_of(rows_.front(), tables_.tiers)) contradicted("the list of tiers");
    store::PlacesByRows places(rows_.front());
    if (!places.are_said()) return;
    for (const auto& phase : tables_.phases)
      if (!places.is_next(phase.phase_id, phase.tier_index, phase.phase_index))
        return contradicted("the place of phase " + phase.phase_id);
  }

  // REQUIRES: check_attempts() has seen the rows of all phases.
  void check_budget() {
    if (const auto unit = cap_contradicted(rows_.front(), caps_, tables_.budgets); !unit.empty())
      contradicted("the cap of " + std::string(unit));
    if (const auto unit = spent_.contradicted_by(tables_.budgets); !unit.empty())
      contradicted("the spent amount of " + std::string(unit));
    if (const auto unit = store::reserved_contradicted(tables_.budgets, holders()); !unit.empty())
      contradicted("the reserved amount of " + std::string(unit));
    std::int64_t calls = 0;
    for (const auto& phase : tables_.phases) calls += phase.doctor_calls;
    if (calls != tables_.run.doctor_calls) contradicted("doctor_calls of the run");
  }

  // The steps that hold reservations. Rows name the steps; the amounts agree among tables only.
  std::vector<store::StepRow> holders() const {
    std::vector<store::StepRow> out = tables_.unsettled;
    for (auto& step : out) step.reserved_ms = 0;  // settled with the end of the step
    for (const auto& [phase_id, steps] : tables_.steps)
      std::ranges::copy_if(steps, std::back_inserter(out),
                           [](const auto& step) { return step.state == store::StepState::kOpen; });
    return out;
  }

  void check_layers() {
    if (const auto phase_id = ended_.contradicted_by(tables_.layers))
      contradicted("the work of phase " + *phase_id);
  }

  // Compares the end of a phase with its newest seal, or with the fork that shares it. An operator who opens
  // the phase again writes a row.
  void check_phase(const store::PhaseRow& phase) {
    const bool is_over = is_over_by_rows(phase.phase_id);
    if (is_over != is_terminal(phase.state)) return contradicted("the end of phase " + phase.phase_id);
    if (is_over && !store::is_end_of(*ended_.end_of(phase.phase_id), phase))
      contradicted("the state of phase " + phase.phase_id);
  }

  bool is_over_by_rows(const std::string& phase_id) const {
    const auto* end = ended_.end_of(phase_id);
    const auto rows = chain_rows_.find(phase_id);
    return end != nullptr && (rows == chain_rows_.end() ? 0 : rows->second) == end->end.rows;
  }

  // Compares each ended attempt with its row, and sums what the rows charge.
  void check_attempts(const store::PhaseRow& phase) {
    const auto rows = rows_of_phase(files_, phase.phase_id);
    if (!rows) return contradicted("the chain of phase " + phase.phase_id);
    std::map<std::string, const Json*> ends, results;
    auto said = limits_of(phase);
    for (const auto& row : *rows) {
      said.add(row);
      spent_.add(row);
      if (text_in(row, "type") == "attempt") ends[text_in(row, "attempt_id")] = &row;
      if (text_in(row, "type") == "executed") results[text_in(row, "sandbox_run_id")] = &row;
    }
    check_results(phase.phase_id, results);
    const auto known = tables_.attempts.find(phase.phase_id);
    const auto none = std::vector<store::AttemptRow>();
    const auto& attempts = known == tables_.attempts.end() ? none : known->second;
    if (std::ranges::count(attempts, true, &store::AttemptRow::finished) < std::ssize(ends))
      contradicted("the number of attempts of phase " + phase.phase_id);
    const auto unfinished = std::ranges::count(attempts, false, &store::AttemptRow::finished);
    if (const auto column = said.contradicted_by(phase, unfinished); !column.empty())
      contradicted(std::string(column) + " of phase " + phase.phase_id);
    for (const auto& attempt : attempts) {
      const auto end = ends.find(attempt.attempt_id);
      if ((end != ends.end()) != attempt.finished || (attempt.finished && !says(*end->second, attempt)))
        contradicted("attempt " + attempt.attempt_id);
    }
  }

  store::AttemptsByRows limits_of(const store::PhaseRow& phase) const {
    const auto* forked = newest_of_type(rows_, "forked");
    const bool inherits = forked != nullptr && text_in(*forked, "phase_id") == phase.phase_id;
    return {store::attempts_planned(rows_.front(), phase.tier_index, phase.phase_index), inherits};
  }

  // Compares the columns that are only shown.
  void check_shown() {
    for (const auto& what : differences_of_run(rows_, tables_)) contradicted(what);
    for (const auto& phase : tables_.phases)
      if (const auto chain = rows_of_phase(files_, phase.phase_id))
        for (const auto& what : differences_of_phase(*chain, phase, tables_)) contradicted(what);
  }

  // Compares the results of steps, which inspect and the report show.
  void check_results(const std::string& phase_id, const std::map<std::string, const Json*>& rows) {
    const auto known = tables_.results.find(phase_id);
    if (known == tables_.results.end()) return;
    for (const auto& [sandbox_run_id, result] : known->second) {
      const auto row = rows.find(sandbox_run_id);
      const bool same =
          row != rows.end() && (!row->second->contains("run") || text_in(*row->second, "run") == result);
      if (!same) contradicted("the result of " + sandbox_run_id + " of phase " + phase_id);
    }
  }

  static bool says(const Json& row, const store::AttemptRow& attempt) {
    const auto same = [&](const char* key, std::string_view value) { return text_in(row, key) == value; };
    const auto signals = row.find("signals");
    const bool is_same_work = !row.contains("layer") || same("layer", attempt.agent_layer);
    const std::string told = attempt.feedback.empty() ? "" : blake3_hex(attempt.feedback);
    const bool is_same_feedback = !row.contains("feedback") || same("feedback", told);
    const bool is_same_base =
        !row.contains("merge_seq") || (integer_in(row, "merge_seq") == attempt.base_merge_seq &&
                                       flag_in(row, "own_tier") == attempt.base_has_own_tier);
    return is_same_work && is_same_feedback && is_same_base && same("verdict", name(attempt.verdict)) &&
           same("model", attempt.model) && same("summary", attempt.summary) &&
           same("failure", attempt.failure) && same("started_at", attempt.started_at) &&
           same("ended_at", attempt.ended_at) && signals != row.end() &&
           canonical(*signals) == (attempt.signals.empty() ? "[]" : attempt.signals);
  }

  const Rows& rows_;
  const Files& files_;
  const Tables& tables_;
  store::EndedPhases ended_;
  store::Caps caps_;  // set by operators
  store::SpentByRows spent_;
  std::map<std::string, std::int64_t> chain_rows_;  // by phase
  std::vector<Problem> problems_;
};

}  // namespace

Result<Tables> tables_of(store::Reader& store, const std::string& run_id) {
  Tables out;
  PAWL_TRY(out.run, store.run(run_id));
  PAWL_TRY(out.plan_text, store.plan_text(run_id));
  PAWL_TRY(out.phases, store.phases(run_id));
  PAWL_TRY(out.layers, store.accepted_layers(run_id));
  PAWL_TRY(out.fork, store.fork_of(run_id));
  PAWL_TRY(out.tiers, store.tiers(run_id));
  PAWL_TRY(out.budgets, store.budgets(run_id));
  for (const auto& phase : out.phases)
    if (phase.attempts_total > 0) {
      PAWL_TRY(out.attempts[phase.phase_id], store.attempts(run_id, phase.phase_id));
      PAWL_TRY(auto steps, store.steps(run_id, phase.phase_id));
      for (auto& step : steps) {
        if (step.state == store::StepState::kDone)
          out.results[phase.phase_id].emplace_back(step.sandbox_run_id, blake3_hex(step.run));
        step.run.clear();
      }
      out.steps[phase.phase_id] = std::move(steps);
      PAWL_TRY(out.episodes[phase.phase_id], store.episodes(run_id, phase.phase_id));
    }
  PAWL_TRY(out.planned[""], store.planned_common(run_id));
  for (const auto& phase : out.phases) {
    PAWL_TRY(out.planned[phase.phase_id], store.planned_phase(run_id, phase.phase_id));
  }
  PAWL_TRY(auto unsettled, store.unsettled(run_id));
  for (auto& each : unsettled) out.unsettled.push_back(std::move(each.step));
  return out;
}

bool says_source(const Tables& tables) {
  const auto common = tables.planned.find("");
  return common != tables.planned.end() && !store::source_folder_of(common->second).empty();
}

std::string stack_of(const Files& files, const std::string& phase_id, const std::string& attempt_id) {
  const auto rows = rows_of_phase(files, phase_id);
  if (!rows) return "";
  for (const auto& row : *rows)
    if (text_in(row, "type") == "attempt" && text_in(row, "attempt_id") == attempt_id)
      return text_in(row, "stack");
  return "";
}

Result<std::vector<Problem>> missing_runs(store::Reader& store) {
  std::map<std::string, std::string> first_rows;    // run_id, hash
  std::vector<std::pair<std::string, Json>> named;  // the naming run; its `before`
  PAWL_TRY(const auto runs, store.runs(std::numeric_limits<std::int32_t>::max()));
  for (const auto& run : runs) {
    PAWL_TRY(const auto rows, store.ledger(run.run_id, "", 1, 1));
    if (rows.empty()) continue;  // verification of that run reports it
    first_rows[run.run_id] = rows.front().hash;
    const auto row = parse_json(rows.front().line);
    if (row && row->contains("before")) named.emplace_back(run.run_id, row->at("before"));
  }
  std::vector<Problem> out;
  for (const auto& [by, before] : named) {
    const std::string run_id = text_in(before, "run_id");
    const auto found = first_rows.find(run_id);
    if (found != first_rows.end() && found->second == text_in(before, "hash")) continue;
    const bool gone = found == first_rows.end();
    out.push_back(
        {.kind = gone ? "missing" : "changed",
         .file = printable(run_id),
         .row = gone ? 0 : 1,
         .detail = "run " + by + (gone ? " started after it" : " started after another first row")});
  }
  PAWL_TRY(const auto lost, store.lost_runs());
  for (const auto& run_id : lost)
    if (std::ranges::find(out, printable(run_id), &Problem::file) == out.end())
      out.push_back({.kind = "missing",
                     .file = printable(run_id),
                     .row = 0,
                     .detail = "table runs: it has no row of this run, of which other tables have rows"});
  return out;
}

std::vector<Problem> contradictions(const Files& files, const Tables& tables) {
  const auto rows = rows_of(files.run);
  if (!rows || rows->empty())
    return {{.kind = "missing", .file = "run.jsonl", .row = 1, .detail = "the run has no rows"}};
  return Comparison(*rows, files, tables).run();
}

}  // namespace pawl::ledger
