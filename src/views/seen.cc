#include "views/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "executor/start_run.h"

namespace pawl::views {
namespace {

// The work that was accepted last, and the gates that judged it.
struct LastWork {
  std::string phase_id, layer_id;
  std::vector<std::string> below;  // layers, the newest first
  std::vector<std::string> gates;  // sorted
  bool in_part = false;            // each gate has `take`
};

// The gates that held in the newest round of an attempt, among them those of the phases beside it.
Result<std::set<std::string>> gates_of(const store::AttemptRow& attempt) {
  PAWL_TRY(const auto signals, parse_json(attempt.signals));
  std::set<std::string> out, failed;
  for (const auto& signal : signals) {
    // A signal `base` says what base has, also for a gate that did not run.
    if (!signal.is_object() || text_in(signal, "kind") == "base") continue;
    const bool held = signal.value("passed", Json()) == true;
    (held ? out : failed).insert(text_in(signal, "gate_id"));
  }
  for (const auto& gate : failed) out.erase(gate);
  return out;
}

// Without a layer: no work was accepted, or a person has taken the last one.
Result<LastWork> last_work(const State& state, const store::RunRow& run) {
  LastWork out;
  PAWL_TRY(const auto layers, state.store->accepted_layers(run.run_id));
  if (layers.empty() || layers.back().layer_id.empty()) return out;
  out.phase_id = layers.back().phase_id;
  PAWL_TRY(const auto row, state.store->phase(run.run_id, out.phase_id));
  if (row.outcome == store::PhaseOutcome::kApproved) return out;
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  PAWL_TRY(const auto phase, executor::phase_of(*state.store, run, out.phase_id));
  PAWL_TRY(const auto attempts, state.store->attempts(run.run_id, out.phase_id));
  std::set<std::string> gates(phase.gates.begin(), phase.gates.end());
  if (!attempts.empty() && attempts.back().verdict == "passed") {
    PAWL_TRY(auto beside, gates_of(attempts.back()));
    gates.merge(std::move(beside));
  }
  for (const auto& name : gates)
    if (plan.gates.contains(name)) out.gates.push_back(name);
  out.in_part = std::ranges::none_of(out.gates,
                                     [&](const auto& name) { return plan.gates.at(name).take_only.empty(); });
  out.layer_id = layers.back().layer_id;
  for (auto layer = layers.rbegin() + 1; layer != layers.rend(); ++layer)
    if (!layer->layer_id.empty()) out.below.push_back(layer->layer_id);
  return out;
}

Result<std::vector<std::string>> changed_by(const State& state, const store::RunRow& run,
                                            const LastWork& work) {
  std::vector<std::string> out;
  PAWL_OK(state.workspaces->each_change(
      run.base_id, work.below, work.layer_id, [](const std::string&) { return false; },
      [&](const FileChange& change) -> Status {
        out.push_back(change.path);
        return {};
      }));
  return out;
}

// REQUIRES: each gate of the work has `take`.
Result<std::optional<SeenInPart>> compared(const State& state, const store::RunRow& run,
                                           const LastWork& work) {
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  PAWL_TRY(const auto changed, changed_by(state, run, work));
  const auto takes = [&](const std::string& gate, const std::string& path) {
    return any_covers(plan.gates.at(gate).take_only, path);
  };
  const bool whole = std::ranges::any_of(work.gates, [&](const auto& gate) {
    return std::ranges::all_of(changed, [&](const auto& path) { return takes(gate, path); });
  });
  if (whole) return std::nullopt;
  const auto untaken = std::ranges::find_if(changed, [&](const auto& path) {
    return std::ranges::none_of(work.gates, [&](const auto& gate) { return takes(gate, path); });
  });
  return SeenInPart{
      .phase_id = work.phase_id, .gates = work.gates, .not_taken = untaken == changed.end() ? "" : *untaken};
}

}  // namespace

Result<std::optional<SeenInPart>> seen_in_part(const State& state, const store::RunRow& run) {
  PAWL_TRY(const auto work, last_work(state, run));
  if (work.layer_id.empty() || !work.in_part) return std::nullopt;
  return compared(state, run, work);
}

std::optional<SeenInPart> told_in_part(const State& state, const store::RunRow& run) {
  if (run.state == store::RunState::kExecuting) return std::nullopt;
  const auto work = last_work(state, run);
  if (!work || work->layer_id.empty() || !work->in_part) return std::nullopt;
  return compared(state, run, *work)
      .value_or(SeenInPart{.phase_id = work->phase_id, .gates = work->gates, .not_taken = ""});
}

Status check_seen(const State& state, const store::RunRow& run) {
  PAWL_TRY(const auto seen, seen_in_part(state, run));
  if (!seen) return {};
  return fail(
      ErrorKind::kInvalid,
      fmt::format("no gate has seen the work of phase {} as a whole, since each takes a part of it{}: add a "
                  "gate without `take` to the phase, and run the plan again",
                  seen->phase_id,
                  seen->not_taken.empty() ? "" : ", and none takes " + printable(seen->not_taken)));
}

Json to_json(const SeenInPart& seen) {
  return {{"phase_id", seen.phase_id},
          {"gates", seen.gates},
          {"not_taken", seen.not_taken.empty() ? Json() : Json(seen.not_taken)}};
}

}  // namespace pawl::views
