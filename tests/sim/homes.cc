#include "sim/homes.h"

#include <algorithm>

#include "os/process.h"

namespace pawl::sim {
namespace {

std::string phase_of(const std::string& attempt_id) { return attempt_id.substr(0, attempt_id.rfind('.')); }

constexpr std::int64_t kChainRowsMax = 1'000'000;

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
  // An operator may queue an ended phase again before its executor forgets HOME. That is a new revision, which begins
  // anew.
  const bool another_follows = row->verdict == store::AttemptVerdict::kFailedRetryable &&
                               !store::is_terminal(phase.state) && row->number == phase.attempts_total &&
                               row->revision == phase.revision;
  World::require(!phases_.contains(phase.phase_id) || !another_follows,
                 attempt_id + " loses HOME before the next attempt");
  homes_.erase(attempt_id);
}

void SimHomes::lose_power() {
  std::erase_if(homes_, [&](const std::string&) { return world_.dice.percent(20); });
}

std::optional<std::string> SimHomes::began_on(const store::AttemptRow& attempt, bool of_last) const {
  std::optional<std::string> out;
  for (const auto& row : World::must(store_.ledger(run_id_, attempt.phase_id, 1, kChainRowsMax))) {
    const auto json = World::must(parse_json(row.line));
    if (text_in(json, "attempt_id") != attempt.attempt_id) continue;
    if (text_in(json, "type") == "pre_execute" && json.contains("layer")) out = text_in(json, "layer");
    if (of_last && json.contains("not_continued")) out.reset();
  }
  return out;
}

std::optional<std::string> SimHomes::first_layer(const std::vector<store::StepRow>& steps,
                                                 const store::StepRow& marker) const {
  if (!phases_.contains(marker.phase_id)) return std::nullopt;
  const auto rows = attempts_of(marker.attempt_id);
  const auto mine = with_id(rows, marker.attempt_id);
  const auto said = began_on(*mine, false);
  if (marker.execution > 1) return said;
  const auto wanted = mine == rows.begin() ? std::nullopt : work_of(steps, *std::prev(mine), *mine);
  World::require(said == wanted, marker.label + " does not say what it begins on");
  return wanted;
}

std::optional<std::string> SimHomes::work_of(const std::vector<store::StepRow>& steps,
                                             const store::AttemptRow& before,
                                             const store::AttemptRow& mine) const {
  const auto boot_of = [](const std::string& owner) { return os::parse_identity(owner).value().boot_id; };
  if (before.revision != mine.revision || boot_of(before.executor) != boot_of(world_.current) ||
      World::must(store_.base_layers(before)) != World::must(store_.base_layers(mine)))
    return std::nullopt;
  const auto agent = std::ranges::find_if(steps, [&](const store::StepRow& row) {
    return row.attempt_id == before.attempt_id && row.gate_id == store::kAgentGate &&
           row.state == store::StepState::kDone;
  });
  if (agent == steps.end()) return std::nullopt;
  const auto run = World::must(sandbox::run_from_json(World::must(parse_json(agent->run))));
  const bool failed = run.outcome == sandbox::Outcome::kExited && run.exit_code != 0;
  if (run.outcome == sandbox::Outcome::kSetupFailed || run.outcome == sandbox::Outcome::kDiskLimit ||
      (failed && run.layer == began_on(before, true).value_or("")))
    return std::nullopt;
  const auto handed = handed_on_.find(mine.attempt_id);
  World::require(handed != handed_on_.end(),
                 mine.attempt_id + " does not look for HOME of the attempt before");
  return handed->second ? std::optional(run.layer) : std::nullopt;
}

}  // namespace pawl::sim
