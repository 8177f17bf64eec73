#include "views/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/glob.h"
#include "executor/start_run.h"
#include "views/accepted.h"

namespace pawl::views {
namespace {

// The work that was accepted last, and the gates that judged it.
struct LastWork {
  std::string phase_id, layer_id, base_id;
  std::vector<std::string> below;                         // layers, the newest first
  std::map<std::string, std::vector<std::string>> gates;  // what each takes; empty: all
};

// The gates that held in the newest round of an attempt, among them those of the phases beside it.
Result<std::set<std::string>> gates_of(const store::AttemptRow& attempt) {
  PAWL_TRY(const auto signals, parse_json(attempt.signals));
  std::set<std::string> out, failed;
  for (const auto& signal : signals) {
    // A signal `base` says what base has, also for a gate that did not run.
    if (!signal.is_object() || text_in(signal, "kind") == "base") continue;
    const bool held = flag_in(signal, "passed");
    (held ? out : failed).insert(text_in(signal, "gate_id"));
  }
  for (const auto& gate : failed) out.erase(gate);
  return out;
}

// Without a layer: no work was accepted, or a person has taken the last one.
Result<LastWork> last_work(const std::string& base_id, const plan::Common& plan,
                           const std::vector<store::LayerRow>& layers, const Evidence::Last& last) {
  LastWork out;
  if (layers.back().layer_id.empty() || last.row.outcome == store::PhaseOutcome::kApproved) return out;
  out.phase_id = layers.back().phase_id;
  out.layer_id = layers.back().layer_id;
  out.base_id = base_id;
  for (auto layer = layers.rbegin() + 1; layer != layers.rend(); ++layer)
    if (!layer->layer_id.empty()) out.below.push_back(layer->layer_id);
  std::set<std::string> gates(last.planned.gates.begin(), last.planned.gates.end());
  if (last.attempt && last.attempt->verdict == store::AttemptVerdict::kPassed) {
    PAWL_TRY(auto beside, gates_of(*last.attempt));
    gates.merge(std::move(beside));
  }
  for (const auto& name : gates)
    if (const auto gate = plan.gates.find(name); gate != plan.gates.end())
      out.gates.emplace(name, gate->second.take_only);
  return out;
}

// As above, from what the store says now.
Result<LastWork> last_work(const State& state, const store::RunRow& run) {
  PAWL_TRY(const auto layers, state.store->accepted_layers(run.run_id));
  if (layers.empty()) return LastWork();
  const auto& phase_id = layers.back().phase_id;
  PAWL_TRY(const auto plan, executor::common_of(*state.store, run));
  Evidence::Last last;
  PAWL_TRY(last.row, state.store->phase(run.run_id, phase_id));
  PAWL_TRY(last.planned, executor::phase_of(*state.store, run, phase_id));
  PAWL_TRY(auto attempts, state.store->attempts(run.run_id, phase_id));
  if (!attempts.empty()) last.attempt = std::move(attempts.back());
  return last_work(run.base_id, plan, layers, last);
}

bool is_in_part(const LastWork& work) {
  return !work.layer_id.empty() &&
         std::ranges::none_of(work.gates, [](const auto& gate) { return gate.second.empty(); });
}

SeenInPart in_part(const LastWork& work, std::string not_taken) {
  SeenInPart out{.phase_id = work.phase_id, .gates = {}, .not_taken = std::move(not_taken)};
  for (const auto& [name, takes] : work.gates) out.gates.push_back(name);
  return out;
}

// REQUIRES: is_in_part(work).
Result<std::optional<SeenInPart>> compared(const workspace::Workspaces& objects, const LastWork& work) {
  PAWL_TRY(const auto changed, objects.changed_paths(work.base_id, work.below, work.layer_id));
  const bool whole = std::ranges::any_of(work.gates, [&](const auto& gate) {
    return std::ranges::all_of(changed, [&](const auto& path) { return any_covers(gate.second, path); });
  });
  if (whole) return std::nullopt;
  const auto untaken = std::ranges::find_if(changed, [&](const auto& path) {
    return std::ranges::none_of(work.gates, [&](const auto& gate) { return any_covers(gate.second, path); });
  });
  return in_part(work, untaken == changed.end() ? "" : *untaken);
}

}  // namespace

std::optional<SeenInPart> seen_in_part(const State& state, const store::RunRow& run) {
  if (run.state == store::RunState::kExecuting) return std::nullopt;
  const auto work = last_work(state, run);
  if (!work || !is_in_part(*work)) return std::nullopt;
  return compared(*state.workspaces, *work).value_or(in_part(*work, ""));
}

Status check_seen(const workspace::Workspaces& objects, const Evidence& evidence) {
  if (!evidence.last) return {};
  PAWL_TRY(const auto work, last_work(evidence.run.base_id, evidence.plan, evidence.layers, *evidence.last));
  if (!is_in_part(work)) return {};
  PAWL_TRY(const auto seen, compared(objects, work));
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
