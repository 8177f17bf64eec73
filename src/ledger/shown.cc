#include "ledger/shown.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "store/ledger_rows.h"
#include "store/step_rows.h"

namespace pawl::ledger {
namespace {

// True: the row lacks `key`, or has the same value.
bool says(const Json& row, const char* key, const std::string& value) {
  return !row.contains(key) || text_in(row, key) == value;
}
bool says(const Json& row, const char* key, std::int64_t value) {
  return !row.contains(key) || integer_in(row, key) == value;
}

bool is_same_fork(const Json* row, const std::optional<store::ForkPoint>& from) {
  if (row == nullptr || !from) return row == nullptr && !from;
  return says(*row, "from_run", from->run_id) && says(*row, "phase_id", from->phase_id) &&
         says(*row, "attempt", from->attempt);
}

bool is_same_attempt(const Json& row, const store::AttemptRow& attempt,
                     const std::vector<store::EpisodeRow>& episodes) {
  const auto failing = row.find("failing_signals"), told = row.find("episodes");
  const std::string said = told == row.end() ? "[]" : canonical(*told);
  return says(row, "revision", attempt.revision) && says(row, "executor", attempt.executor) &&
         says(row, "build", attempt.build) &&
         (failing == row.end() || *failing == Json(attempt.failing_signals)) &&
         said == store::json_text(episodes);
}

using ById = std::map<std::string, const Json*>;

ById rows_by(const Rows& chain, std::string_view type, const char* key) {
  ById out;
  for (const auto& row : chain)
    if (text_in(row, "type") == type) out[text_in(row, key)] = &row;
  return out;
}

template <typename Map>
const typename Map::mapped_type& of_phase(const Map& map, const std::string& phase_id) {
  static const typename Map::mapped_type none;
  const auto found = map.find(phase_id);
  return found == map.end() ? none : found->second;
}

const Json* row_of(const ById& rows, const store::StepRow& step) {
  const auto row = rows.find(step.sandbox_run_id);
  return row == rows.end() ? nullptr : row->second;
}

// Rows of a step that goes on do not say its end.
bool is_same_end(const Json* ended, const Json* resumed, const store::StepRow& step) {
  const Json* row = step.state == store::StepState::kLost ? resumed : ended;
  return step.state == store::StepState::kOpen || row == nullptr || store::is_ended_by(*row, step);
}

void compare_steps(const Rows& chain, const store::PhaseRow& phase, const Tables& tables,
                   std::vector<std::string>& out) {
  const auto started = rows_by(chain, "pre_execute", "sandbox_run_id");
  const auto ended = rows_by(chain, "executed", "sandbox_run_id");
  const auto resumed = rows_by(chain, "resume", "sandbox_run_id");
  const bool goes_on = !is_terminal(phase.state);
  std::size_t known = 0;
  for (const auto& step : of_phase(tables.steps, phase.phase_id)) {
    const Json *row = row_of(started, step), *end = row_of(ended, step), *resume = row_of(resumed, step);
    if (row == nullptr && goes_on) continue;
    ++known;
    const bool is_done = step.state == store::StepState::kDone;
    if (row == nullptr || !store::is_started_by(*row, step) || !store::is_named_by_its_label(step) ||
        (end != nullptr && !is_done) || !store::is_decided_by(resume, step) ||
        !is_same_end(end, resume, step) || (is_done && end == nullptr && !goes_on))
      out.push_back("step " + step.label);
  }
  if (known != started.size()) out.push_back("the number of steps of phase " + phase.phase_id);
}

}  // namespace

std::vector<std::string> differences_of_run(const Rows& run, const Tables& tables) {
  std::vector<std::string> out;
  if (!is_same_fork(newest_of_type(run, "forked"), tables.fork))
    out.emplace_back("what the run was forked from");
  for (const auto& phase : tables.phases) {
    if (!is_terminal(phase.state)) continue;
    const Json* seal = seal_of(run, phase.phase_id);
    if (seal == nullptr) continue;  // check_phase() in tables.cc reports that
    if (!says(*seal, "cause", phase.last_failure_reason))
      out.push_back("the cause of phase " + phase.phase_id);
    if (!says(*seal, "attempts_used", phase.attempts_used) ||
        !says(*seal, "attempts_total", phase.attempts_total))
      out.push_back("the count of attempts of phase " + phase.phase_id);
  }
  return out;
}

std::vector<std::string> differences_of_phase(const Rows& chain, const store::PhaseRow& phase,
                                              const Tables& tables) {
  std::vector<std::string> out;
  const std::string& phase_id = phase.phase_id;
  const auto ends = rows_by(chain, "attempt", "attempt_id");
  for (const auto& attempt : of_phase(tables.attempts, phase_id)) {
    if (attempt.attempt_id != phase_id + "." + std::to_string(attempt.number))
      out.push_back("the number of attempt " + attempt.attempt_id);
    const auto end = ends.find(attempt.attempt_id);
    std::vector<store::EpisodeRow> episodes;
    std::ranges::copy_if(of_phase(tables.episodes, phase_id), std::back_inserter(episodes),
                         [&](const auto& one) { return one.attempt_id == attempt.attempt_id; });
    const bool is_same =
        end == ends.end() ? episodes.empty() : is_same_attempt(*end->second, attempt, episodes);
    if (!is_same) out.push_back("attempt " + attempt.attempt_id + " or its episodes");
  }
  compare_steps(chain, phase, tables, out);
  return out;
}

}  // namespace pawl::ledger
