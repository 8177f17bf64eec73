#include "sim/evidence.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"

namespace pawl::sim {

std::string_view value_of(std::string_view row, std::string_view key) {
  const auto quoted = "\"" + std::string(key) + "\":\"";
  const auto at = row.rfind(quoted);
  if (at == row.npos) return "";
  row.remove_prefix(at + quoted.size());
  return row.substr(0, row.find('"'));
}

void Evidence::check_ends(const std::vector<store::PhaseRow>& phases) {
  const auto rows = World::must(store_.ledger(run_id_, "", rows_ + 1, kRowsMax));
  for (const auto& row : rows) note(row);
  if (!rows.empty()) check_signed(rows.back());
  for (const auto& phase : phases) {
    if (!is_terminal(phase.state)) continue;
    const auto seal = seals_.find(phase.phase_id);
    World::require(seal != seals_.end() && seal->second.state == name(phase.state) &&
                       seal->second.outcome == name(phase.outcome),
                   phase.phase_id + ": it is over, and no row says so");
  }
  if (!rows.empty()) check_work(phases);
}

void Evidence::note(const store::LedgerRow& row) {
  rows_ = row.seq;
  const auto type = value_of(row.line, "type");
  if (type != "phase_sealed" && type != "forked") return;
  const Json json = World::must(parse_json(row.line));
  const auto add = [&](const Json& of) {
    seals_[text_in(of, "phase_id")] = {.state = text_in(of, "state"),
                                       .outcome = text_in(of, "outcome"),
                                       .layer = text_in(of, "layer"),
                                       .head = text_in(of, "head"),
                                       .rows = integer_in(of, "rows"),
                                       .is_new = type == "phase_sealed"};
  };
  if (type == "phase_sealed") return add(json);
  for (const auto& shared : list_in(json, "shared")) add(shared);
}

void Evidence::check_signed(const store::LedgerRow& last) {
  const auto head = World::must(store_.head(run_id_));
  World::require(head.has_value(), "the run has no signed head");
  const Json body = World::must(parse_json(head->body));
  const auto& end = object_in(object_in(body, "chains"), "");
  World::require(integer_in(end, "rows") == last.seq && text_in(end, "head") == last.hash,
                 "the signed head does not have the end of the run's chain");
}

void Evidence::check_work(const std::vector<store::PhaseRow>& phases) {
  std::map<std::string, std::string> accepted;
  for (const auto& layer : World::must(store_.accepted_layers(run_id_)))
    accepted[layer.phase_id] = layer.layer_id;
  for (const auto& phase : phases) {
    auto seal = seals_.find(phase.phase_id);
    if (seal == seals_.end() || !is_terminal(phase.state)) continue;
    const bool is_accepted = phase.state == store::PhaseState::kComplete;
    World::require(
        accepted.contains(phase.phase_id) == is_accepted && seal->second.layer == accepted[phase.phase_id],
        phase.phase_id + ": the work that is accepted is not what the row of its end names");
    if (!std::exchange(seal->second.is_new, false)) continue;
    const auto& [state, outcome, layer, hash, rows, is_new] = seal->second;
    const auto end = World::must(store_.ledger(run_id_, phase.phase_id, std::max<std::int64_t>(rows, 1), 2));
    World::require(rows == 0 ? end.empty() : end.size() == 1 && end.front().hash == hash,
                   phase.phase_id + ": its chain does not end where the row of its end says");
  }
}

void Evidence::read_costs() {
  for (const auto& line : World::must(store_.cost_rows(run_id_, cost_rows_))) {
    ++cost_rows_;
    costs_[std::string(value_of(line, "sandbox_run_id"))] = blake3_hex(line);
  }
}

void Evidence::check_steps(const std::string& phase_id, const std::vector<store::StepRow>& steps) {
  auto& known = steps_[phase_id];
  for (const auto& row : World::must(store_.ledger(run_id_, phase_id, known.rows + 1, kRowsMax))) {
    known.rows = row.seq;
    const auto type = value_of(row.line, "type"), cost = value_of(row.line, "cost");
    const bool gives_up = type == "resume" && !cost.empty();
    if (type != "executed" && !gives_up) continue;
    const bool is_first =
        known.ended
            .emplace(value_of(row.line, "sandbox_run_id"),
                     End{.result = std::string(value_of(row.line, "run")), .cost = std::string(cost)})
            .second;
    World::require(is_first, phase_id + ": two rows end one step");
  }
  read_costs();
  for (const auto& step : steps) {
    if (step.state == store::StepState::kOpen || !known.checked.insert(step.sandbox_run_id).second) continue;
    const auto end = known.ended.find(step.sandbox_run_id);
    World::require(end != known.ended.end(), step.label + ": it ended, and no row says so");
    const bool is_done = step.state == store::StepState::kDone;
    World::require(end->second.result == (is_done ? blake3_hex(step.run) : ""),
                   step.label + ": its result is not the one that its row names");
    const auto cost = costs_.find(step.sandbox_run_id);
    World::require(cost != costs_.end() && cost->second == end->second.cost,
                   step.label + ": it ended without the cost row that its row names");
  }
}

}  // namespace pawl::sim
