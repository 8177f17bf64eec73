#include "store/ended_phases.h"

#include <algorithm>

#include "base/hash.h"
#include "store/transition.h"

namespace pawl::store {
namespace {

PhaseEnd end_in(const Json& row, ChainHead end) {
  PhaseEnd out{.state = text_in(row, "state"), .outcome = text_in(row, "outcome"), .end = std::move(end)};
  if (row.contains("layer")) out.layer = text_in(row, "layer");
  return out;
}

bool is_accepted(const PhaseEnd& end) { return end.state == name(PhaseState::kComplete); }

}  // namespace

void EndedPhases::seal(const std::string& phase_id, PhaseEnd end) {
  auto& known = ends_[phase_id];
  // Accepted work stays at its place. Its phase is sealed again when late reports of its agent are recorded.
  if (is_accepted(end) && !is_accepted(known))
    accepted_.push_back({.phase_id = phase_id,
                         .layer = end.layer,
                         .merge_seq = static_cast<std::int64_t>(accepted_.size()) + 1});
  known = std::move(end);
}

void EndedPhases::add(const EndedPhases& later) {
  for (const auto& accepted : later.accepted_) seal(accepted.phase_id, later.ends_.at(accepted.phase_id));
  for (const auto& [phase_id, end] : later.ends_) seal(phase_id, end);
}

void EndedPhases::add(const Json& row) {
  const std::string type = text_in(row, "type");
  if (type == "phase_sealed") {
    const std::string phase_id = text_in(row, "phase_id");
    return seal(
        phase_id,
        end_in(row, {.chain = phase_id, .rows = integer_in(row, "rows"), .head = text_in(row, "head")}));
  }
  if (type != "forked") return;
  for (const auto& shared : list_in(row, "shared")) {
    const std::string phase_id = text_in(shared, "phase_id");
    seal(phase_id, end_in(shared, {.chain = phase_id, .rows = 0, .head = std::string(kZeroHash)}));
    if (!accepted_.empty() && accepted_.back().phase_id == phase_id)
      accepted_.back().merge_seq = integer_in(shared, "merge_seq");
  }
  std::ranges::stable_sort(accepted_, {}, &AcceptedByRows::merge_seq);
}

const PhaseEnd* EndedPhases::end_of(const std::string& phase_id) const {
  const auto found = ends_.find(phase_id);
  return found == ends_.end() ? nullptr : &found->second;
}

std::optional<std::string> EndedPhases::contradicted_by(const std::vector<LayerRow>& layers) const {
  std::map<std::string, const AcceptedByRows*> left;
  for (const auto& accepted : accepted_) left[accepted.phase_id] = &accepted;
  std::int64_t number = 0;
  for (const auto& row : layers) {
    ++number;
    const auto found = left.find(row.phase_id);
    if (found == left.end()) return row.phase_id;  // no row names it, or the table has it twice
    const auto& said = *found->second;
    const bool is_its_place = row.merge_seq == number && (said.merge_seq == 0 || said.merge_seq == number);
    if (!is_its_place || row.layer_id != said.layer.value_or(row.layer_id)) return row.phase_id;
    left.erase(found);
  }
  return left.empty() ? std::nullopt : std::optional(left.begin()->first);
}

Result<RunState> EndedPhases::state_of_run(const Json& started) const {
  std::vector<PhaseRow> phases;
  for (const auto& listed : list_in(started, "phases")) {
    const std::string phase_id = listed.is_string() ? listed.get<std::string>() : "";
    const PhaseEnd* end = end_of(phase_id);
    const auto state = phase_state_from_name(end == nullptr ? "" : end->state);
    if (!state || !is_terminal(*state))
      return fail(ErrorKind::kForged, "no row ends phase " + printable(phase_id));
    phases.push_back({.phase_id = phase_id, .state = *state});
  }
  return run_state_of(phases);
}

bool is_end_of(const PhaseEnd& end, const PhaseRow& phase) {
  return end.state == name(phase.state) && end.outcome == name(phase.outcome);
}

}  // namespace pawl::store
