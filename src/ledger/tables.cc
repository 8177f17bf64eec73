#include "ledger/tables.h"

#include <algorithm>

#include "base/hash.h"
#include "ledger/rows.h"

namespace pawl::ledger {
namespace {

constexpr const char* kDatabase = "pawl.db";

class Comparison {
 public:
  Comparison(const Rows& rows, const Tables& tables) : rows_(rows), tables_(tables) {}

  std::vector<Problem> run() {
    check_start();
    check_state();
    for (const auto& phase : tables_.phases) check_phase(phase);
    return std::move(problems_);
  }

 private:
  void contradicted(const std::string& what) {
    problems_.push_back(
        {.kind = "forged", .file = kDatabase, .row = 0, .detail = what + " is not what the rows say"});
  }

  // What the run was started with.
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
    const auto planned = started.find("planned");
    if (planned == started.end()) return;
    for (const auto& [phase_id, row] : tables_.planned)
      if (text_in(*planned, phase_id.c_str()) != blake3_hex(row))
        contradicted(phase_id.empty() ? "the planned row of the run" : "the planned row of " + phase_id);
  }

  void check_state() {
    const Json& last = rows_.back();
    const bool is_sealed = text_in(last, "type") == "run_sealed";
    const std::string state(name(tables_.run.state));
    if (state != (is_sealed ? text_in(last, "state") : "EXECUTING")) contradicted("the run's state");
  }

  // A phase that is over, as its newest seal or the fork that shares it says.
  void check_phase(const store::PhaseRow& phase) {
    if (!is_terminal(phase.state)) return;
    const Json* seal = seal_of(rows_, phase.phase_id);
    if (seal == nullptr) return contradicted("the end of phase " + phase.phase_id);
    if (text_in(*seal, "state") != name(phase.state) || text_in(*seal, "outcome") != name(phase.outcome))
      contradicted("the state of phase " + phase.phase_id);
    if (!seal->contains("layer")) return;
    const auto layer = std::ranges::find(tables_.layers, phase.phase_id, &store::LayerRow::phase_id);
    if (text_in(*seal, "layer") != (layer == tables_.layers.end() ? "" : layer->layer_id))
      contradicted("the work of phase " + phase.phase_id);
  }

  const Rows& rows_;
  const Tables& tables_;
  std::vector<Problem> problems_;
};

}  // namespace

Result<Tables> tables_of(store::Store& store, const std::string& run_id) {
  Tables out;
  PAWL_TRY(out.run, store.run(run_id));
  PAWL_TRY(out.plan_text, store.plan_text(run_id));
  PAWL_TRY(out.phases, store.phases(run_id));
  PAWL_TRY(out.layers, store.accepted_layers(run_id));
  PAWL_TRY(auto common, store.planned_common(run_id));
  if (common.empty()) return out;  // nobody has made rows of the plan since an older version made the run
  out.planned[""] = std::move(common);
  for (const auto& phase : out.phases) {
    PAWL_TRY(out.planned[phase.phase_id], store.planned_phase(run_id, phase.phase_id));
  }
  return out;
}

std::vector<Problem> contradictions(const Files& files, const Tables& tables) {
  const auto rows = rows_of(files.run);
  if (!rows || rows->empty())
    return {{.kind = "missing", .file = "run.jsonl", .row = 1, .detail = "the run has no rows"}};
  return Comparison(*rows, tables).run();
}

}  // namespace pawl::ledger
