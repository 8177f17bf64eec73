#include "sim/homes.h"

#include <algorithm>

namespace pawl::sim {
namespace {

std::string phase_of(const std::string& attempt_id) { return attempt_id.substr(0, attempt_id.rfind('.')); }

auto with_id(const std::vector<store::AttemptRow>& rows, const std::string& id) {
  return std::ranges::find(rows, id, &store::AttemptRow::attempt_id);
}

}  // namespace

void SimHomes::of_run(std::string run_id, std::set<std::string> phases) {
  run_id_ = std::move(run_id);
  phases_ = std::move(phases);
  homes_.clear();
  handed_on_.clear();
}

std::vector<store::AttemptRow> SimHomes::attempts_of(const std::string& attempt_id) const {
  return World::must(store_.attempts(run_id_, phase_of(attempt_id)));
}

bool SimHomes::hand_on(const std::string& from_attempt_id, const std::string& to_attempt_id) {
  const auto rows = attempts_of(to_attempt_id);
  const auto from = with_id(rows, from_attempt_id), to = with_id(rows, to_attempt_id);
  World::require(from != rows.end() && from->finished, from_attempt_id + " loses HOME before its end");
  World::require(to != rows.end() && to->number > from->number, to_attempt_id + " is not a later attempt");
  if (homes_.erase(from_attempt_id) > 0) homes_.insert(to_attempt_id);
  return handed_on_[to_attempt_id] = homes_.contains(to_attempt_id);
}

void SimHomes::forget(const std::string& attempt_id) {
  const auto rows = attempts_of(attempt_id);
  const auto row = with_id(rows, attempt_id);
  World::require(row != rows.end() && row->finished, attempt_id + " loses HOME before its end");
  const auto phase = World::must(store_.phase(run_id_, phase_of(attempt_id)));
  const bool another_follows = row->verdict == store::AttemptVerdict::kFailedRetryable &&
                               !store::is_terminal(phase.state) && row->number == phase.attempts_total;
  World::require(!phases_.contains(phase.phase_id) || !another_follows,
                 attempt_id + " loses HOME before the next attempt");
  homes_.erase(attempt_id);
}

void SimHomes::lose_power() {
  std::erase_if(homes_, [&](const std::string&) { return world_.dice.percent(20); });
}

std::optional<std::string> SimHomes::first_layer(const std::vector<store::StepRow>& steps,
                                                 const store::StepRow& marker) const {
  if (!phases_.contains(marker.phase_id)) return std::nullopt;
  const auto rows = attempts_of(marker.attempt_id);
  const auto mine = with_id(rows, marker.attempt_id);
  if (mine == rows.begin()) return std::nullopt;
  const auto& before = *std::prev(mine);
  if (before.revision != mine->revision ||
      World::must(store_.base_layers(before)) != World::must(store_.base_layers(*mine)))
    return std::nullopt;
  const auto agent = std::ranges::find_if(steps, [&](const store::StepRow& row) {
    return row.attempt_id == before.attempt_id && row.gate_id == store::kAgentGate &&
           row.state == store::StepState::kDone;
  });
  if (agent == steps.end()) return std::nullopt;
  const auto handed = handed_on_.find(marker.attempt_id);
  World::require(handed != handed_on_.end(), marker.label + " does not look for HOME of the attempt before");
  if (!handed->second) return std::nullopt;
  return World::must(sandbox::run_from_json(World::must(parse_json(agent->run)))).layer;
}

}  // namespace pawl::sim
