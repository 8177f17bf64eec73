#include "store/step_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "base/time.h"
#include "store/limits.h"
#include "store/marker.h"

namespace pawl::store {
namespace {

// True: the row lacks `key`, or has the same value.
bool has(const Json& row, const char* key, const std::string& value) {
  return !row.contains(key) || text_in(row, key) == value;
}
bool has(const Json& row, const char* key, std::int64_t value) {
  return !row.contains(key) || integer_in(row, key) == value;
}

const Json* row_of(const std::map<std::string, Json>& rows, const StepRow& step) {
  const auto found = rows.find(step.sandbox_run_id);
  return found == rows.end() ? nullptr : &found->second;
}

// The part of is_named_by_its_label() that a claim compares: a row in another round would not be read at all.
bool is_in_the_round_of_its_label(const StepRow& step) {
  constexpr std::string_view kRound = ".together";
  const auto behind_names = std::min(step.label.rfind(".attempt"), step.label.size());
  const auto at = step.label.find(kRound, behind_names);
  const auto number = at == std::string::npos ? "0" : step.label.substr(at + kRound.size());
  return step.step_index >= 0 &&
         number.substr(0, number.find('.')) == std::to_string(step.step_index / kRoundStride);
}

}  // namespace

bool is_started_by(const Json& row, const StepRow& step) {
  return has(row, "label", step.label) && has(row, "attempt_id", step.attempt_id) &&
         has(row, "started_at", step.started_at) && has(row, "execution", step.execution) &&
         has(row, "sandbox_spec_hash", step.sandbox_spec_hash);
}

// The label is PHASE.GATE.STEP.attemptN[.togetherR][.episodeM].
bool is_named_by_its_label(const StepRow& step) {
  const auto number = step.attempt_id.substr(step.attempt_id.rfind('.') + 1);
  std::string label = step.phase_id + "." + step.gate_id + "." + step.step_name + ".attempt" + number;
  if (const auto round = step.step_index / kRoundStride; round > 0)
    label += ".together" + std::to_string(round);
  if (step.episode != 0) label += ".episode" + std::to_string(step.episode);
  return step.step_index >= 0 && step.label == label;
}

// PHASE.agent.run.attemptN[.episodeM]. The names of gates and steps may have dots in them.
bool is_label_of_agent(std::string_view label, std::string_view phase_id) {
  constexpr std::string_view kStep = ".agent.run.attempt", kEpisode = ".episode";
  if (!label.starts_with(phase_id) || !label.substr(phase_id.size()).starts_with(kStep)) return false;
  label.remove_prefix(phase_id.size() + kStep.size());
  const auto drop_number = [&] {
    label.remove_prefix(std::min(label.size(), label.find_first_not_of("0123456789")));
  };
  drop_number();
  if (label.starts_with(kEpisode)) {
    label.remove_prefix(kEpisode.size());
    drop_number();
  }
  return label.empty();
}

// The table has the decision of a recovery only for lost steps with an episode number, or that wait.
bool is_decided_by(const Json* row, const StepRow& step) {
  const bool is_said =
      row != nullptr && step.state == StepState::kLost &&
      (step.episode != 0 || has(*row, "decision", std::string(name(RecoveryDecision::kWait))));
  return is_said ? has(*row, "decision", step.decision) : step.decision.empty();
}

bool is_ended_by(const Json& row, const StepRow& step) {
  if (!has(row, "at", step.ended_at)) return false;
  return step.state != StepState::kLost ||
         has(row, "spent_ms", charged_ms_of_lost(step, parse_rfc3339(step.ended_at)));
}

void StepsByRows::add(const Json& row) {
  if (text_in(row, "attempt_id") != attempt_id_) return;
  const std::string type = text_in(row, "type"), id = text_in(row, "sandbox_run_id");
  if (type == "pre_execute") {
    started_[id] = row;
  } else if (type == "executed") {
    executed_[id] = row;
    const std::string_view phase_id = std::string_view(attempt_id_).substr(0, attempt_id_.rfind('.'));
    if (is_label_of_agent(text_in(row, "label"), phase_id)) agent_layer_ = text_in(row, "layer");
  } else if (type == "resume") {
    resumed_[id] = row;
    if (gives_up(text_in(row, "decision"))) given_up_.insert(id);
  } else if (type == "judged_again") {
    round_ = integer_in(row, "round");
    round_merge_seq_ = integer_in(row, "merge_seq");
  }
}

std::string StepsByRows::contradicted_by(const AttemptRow& attempt, const std::vector<StepRow>& steps) const {
  for (const auto& step : steps)
    if (!says(step)) return "the step " + step.label;
  if (steps.size() != started_.size()) return "the number of its steps";
  if (attempt.joined_round != round_ || attempt.joined_merge_seq != round_merge_seq_) return "its rounds";
  return says_work(attempt) ? "" : "the work of its agent";
}

bool StepsByRows::says(const StepRow& step) const {
  const Json *started = row_of(started_, step), *executed = row_of(executed_, step),
             *resumed = row_of(resumed_, step);
  if (started == nullptr || !is_started_by(*started, step) || !is_in_the_round_of_its_label(step) ||
      !is_decided_by(resumed, step))
    return false;
  switch (step.state) {
    case StepState::kOpen:
      return executed == nullptr && !given_up_.contains(step.sandbox_run_id);
    case StepState::kDone:
      return executed != nullptr && is_ended_by(*executed, step) &&
             has(*executed, "run", blake3_hex(step.run));
    case StepState::kLost:
      return executed == nullptr && given_up_.contains(step.sandbox_run_id) && is_ended_by(*resumed, step);
  }
  return false;
}

// A round that judges an attempt again keeps only a part of the agent's work. The row of the attempt is the first
// row that names that part, so no earlier row can contradict it.
bool StepsByRows::says_work(const AttemptRow& attempt) const {
  return attempt.agent_layer.empty() || round_ > 0 || attempt.agent_layer == agent_layer_;
}

}  // namespace pawl::store
