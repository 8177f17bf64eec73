#include "ledger/step_order.h"

#include <algorithm>
#include <charconv>

#include "store/step_rows.h"

namespace pawl::ledger {
namespace {

// The value after `key` in a canonical row of a step. Names and hashes have no quotes in them.
std::string_view value_of(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == line.npos) return {};
  line.remove_prefix(at + key.size());
  return line.substr(0, line.find_first_of("\",}"));
}

std::int64_t number_of(std::string_view line, std::string_view key) {
  const auto digits = value_of(line, key);
  std::int64_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

// A gate's step on base runs before the agent, too.
bool is_on_base(std::string_view label) {
  return label.find("@base.attempt") != label.npos || label.find("@base2.attempt") != label.npos;
}

}  // namespace

StepOrder::Row StepOrder::read(std::string_view line) {
  constexpr std::string_view kEpisode = ".episode", kLayer = ",\"layer\":\"";
  Row out{.attempt_id = value_of(line, "\"attempt_id\":\""),
          .label = value_of(line, "\"label\":\""),
          .layer = value_of(line, kLayer),
          .id = value_of(line, "\"sandbox_run_id\":\""),
          .has_layer = line.find(kLayer) != line.npos};
  const auto at = out.label.rfind(kEpisode);
  if (at != out.label.npos && at > out.label.rfind(".attempt"))
    out.episode = out.label.substr(at + kEpisode.size());
  return out;
}

bool StepOrder::is_of_agent(const Row& row) const { return store::is_label_of_agent(row.label, phase_id_); }

// Names may have dots: gate `a` with step `b.c`, and gate `a.b` with step `c`. No member of a row tells them apart.
bool StepOrder::may_be_of_two_gates(std::string_view label) const {
  const auto names = label.substr(std::min(phase_id_.size() + 1, label.size()));
  return std::ranges::count(names.substr(0, names.rfind(".attempt")), '.') > 1;
}

std::string StepOrder::add(std::string_view line) {
  const auto row = read(line);
  if (row.attempt_id.empty()) return "";
  return line.ends_with("\"type\":\"executed\"") ? end(row) : begin(row, number_of(line, "\"execution\":"));
}

std::string StepOrder::begin(const Row& row, std::int64_t execution) {
  auto& step = steps_[{row.attempt_id, row.label}];
  started_[row.id] = &step;
  const bool is_new = may_be_of_two_gates(row.label) || (!step.has_result && execution > step.execution);
  step.execution = execution;
  if (!is_new) return "step " + std::string(row.label) + " began again, although it has a result";
  if (!row.has_layer || !is_of_agent(row)) return "";
  // on_retry: continue
  const auto before = work_.find(last_);
  const bool is_of_earlier = before != work_.end() && last_.first != row.attempt_id;
  if (is_of_earlier && before->second == row.layer) return "";
  return "step " + std::string(row.label) + " went on in work that no agent left in the attempt before";
}

std::string StepOrder::end(const Row& row) {
  if (const auto step = started_.find(row.id); step != started_.end()) step->second->has_result = true;
  const Episode episode{row.attempt_id, row.episode};
  if (is_of_agent(row)) {
    work_[episode] = row.layer;
    last_ = episode;
    if (judged_.contains(episode))
      return "a gate judged before the agent ended, step " + std::string(row.label);
  } else if (!is_on_base(row.label)) {
    judged_.insert(episode);
  }
  return "";
}

// Only whether there is work is compared: without ignored files, the accepted work has another id than the
// agent's layer.
std::string StepOrder::check_work(const Json& attempt) const {
  if (text_in(attempt, "layer").empty()) return "";
  const std::string attempt_id = text_in(attempt, "attempt_id");
  std::string chosen;
  for (const auto& episode : list_in(attempt, "episodes"))
    if (!text_in(episode, "kept_by").empty()) chosen = std::to_string(integer_in(episode, "episode"));
  const auto left = work_.find({attempt_id, chosen});
  if (left != work_.end() && !left->second.empty()) return "";
  return "attempt " + attempt_id + " has work that its agent did not leave";
}

}  // namespace pawl::ledger
