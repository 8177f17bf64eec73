#include "views/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lines.h"
#include "executor/steps.h"
#include "os/file.h"
#include "store/ledger_rows.h"
#include "supervisor/supervisor.h"
#include "views/budget.h"
#include "views/decisions.h"

namespace pawl::views {
namespace {

constexpr std::uint64_t kNetworkLogBytesMax = 64 << 20;
constexpr std::size_t kRefusedShownMax = 100;    // for one step
constexpr std::int64_t kOperatorRowsRead = 500;  // from the run's chain, which has a row for each phase

StepNow now_of(const store::StepRow& step, const State& state) {
  switch (step.state) {
    case store::StepState::kDone:
      return StepNow::kDone;
    case store::StepState::kLost:
      return has_waited(step) ? StepNow::kWaited : StepNow::kNoResult;
    case store::StepState::kOpen:
      break;
  }
  const auto found = supervisor::find_step(state.folder, step.sandbox_run_id);
  const bool lives = found && *found != supervisor::Found::kNothing;
  return lives ? StepNow::kRunning : StepNow::kNoResult;
}

Result<Json> json_or_empty(const std::string& text) {
  if (text.empty()) return Json::object();
  return parse_json(text);
}

Json refused_tries(const State& state, const Json& run) {
  Json out = Json::array();
  const std::string log = text_in(run, "network_log");
  if (log.empty()) return out;
  const std::string text = os::read_file(state.workspaces->blob_path(log), kNetworkLogBytesMax).value_or("");
  for (const auto line : TextLines(text)) {
    if (out.size() == kRefusedShownMax) break;
    if (auto row = parse_json(line); row && text_in(*row, "verdict") != "allowed")
      out.push_back(*std::move(row));
  }
  return out;
}

class Reader {
 public:
  Reader(const State& state, const Page& page) : state_(state), page_(page) {}

  Result<PhaseStory> phase(const store::PhaseRow& row) {
    PhaseStory out{.row = row};
    const std::int64_t before =
        page_.attempt > 0 ? page_.attempt + 1 : std::numeric_limits<std::int64_t>::max();
    PAWL_TRY(auto attempts, state_.store->attempts_before(row.run_id, row.phase_id, before,
                                                          page_.attempt > 0 ? 1 : page_.attempts_max));
    if (page_.attempt > 0 && (attempts.empty() || attempts.front().number != page_.attempt))
      return fail(ErrorKind::kNotFound, fmt::format("phase {} has no attempt {}; it has had {}", row.phase_id,
                                                    page_.attempt, row.attempts_total));
    std::ranges::reverse(attempts);
    const std::int64_t first = attempts.empty() ? 1 : attempts.front().number;
    const std::int64_t last = attempts.empty() ? 0 : attempts.back().number;
    out.earlier = first - 1;
    out.later = std::max<std::int64_t>(0, row.attempts_total - last);
    PAWL_TRY(auto decisions, decisions_about(*state_.store, row.run_id, row.phase_id, first, last));
    auto decision = decisions.begin();
    for (; decision != decisions.end() && decision->attempt < first; ++decision)
      out.before.push_back(std::move(decision->row));
    for (auto& attempt : attempts) {
      PAWL_TRY(AttemptStory told, this->attempt(std::move(attempt)));
      for (; decision != decisions.end() && decision->attempt <= told.row.number; ++decision)
        told.decisions.push_back(std::move(decision->row));
      out.attempts.push_back(std::move(told));
    }
    return out;
  }

 private:
  Result<AttemptStory> attempt(store::AttemptRow row) {
    AttemptStory out;
    PAWL_TRY(auto steps, state_.store->steps_of_attempt(row.run_id, row.attempt_id));
    std::ranges::stable_sort(steps, {}, &store::StepRow::started_at);  // base first, then the agent
    for (auto& step : steps) {
      PAWL_TRY(Json run, json_or_empty(step.run));
      const StepNow now = now_of(step, state_);
      Json refused = refused_tries(state_, run);
      out.steps.push_back(
          {.row = std::move(step), .run = std::move(run), .now = now, .refused = std::move(refused)});
    }
    if (std::ranges::any_of(out.steps, [](const auto& step) { return step.row.episode > 0; })) {
      PAWL_TRY(auto episodes, state_.store->episodes(row.run_id, row.phase_id));
      for (auto& episode : episodes)
        if (episode.attempt_id == row.attempt_id) out.episodes.push_back(std::move(episode));
    }
    PAWL_TRY(out.signals, json_or_empty(row.signals));
    if (!out.signals.is_array()) out.signals = Json::array();
    PAWL_TRY(out.feedback, json_or_empty(row.feedback));
    out.row = std::move(row);
    return out;
  }

  const State& state_;
  const Page& page_;
};

// The phases of the page.
Result<std::vector<store::PhaseRow>> phases_of(store::Reader& store, const std::string& run_id,
                                               const Page& page) {
  if (page.phase.empty()) return store.first_phases(run_id, page.phases_max + 1);  // to detect further ones
  PAWL_TRY(auto phase, store.phase(run_id, page.phase));
  return std::vector{std::move(phase)};
}

Json to_json(const AttemptStory& attempt) {
  const auto& row = attempt.row;
  Json out = {{"attempt_id", row.attempt_id}, {"number", row.number},         {"revision", row.revision},
              {"model", row.model},           {"verdict", name(row.verdict)}, {"summary", row.summary},
              {"started_at", row.started_at}, {"ended_at", row.ended_at},     {"steps", Json::array()},
              {"signals", attempt.signals},   {"feedback", attempt.feedback}, {"decisions", Json::array()}};
  if (!attempt.episodes.empty())
    out["episodes"] = parse_json(store::json_text(attempt.episodes)).value_or(Json());
  for (const auto& step : attempt.steps) {
    out["steps"].push_back({{"label", step.row.label},
                            {"sandbox_run_id", step.row.sandbox_run_id},
                            {"execution", step.row.execution},
                            {"started_at", step.row.started_at},
                            {"state", name(step.now)},
                            {"network_refused", step.refused},
                            {"run", step.run}});
    if (step.row.episode > 0) out["steps"].back()["episode"] = step.row.episode;
  }
  for (const auto& decision : attempt.decisions)
    if (text_in(decision, "attempt_id") == row.attempt_id) out["decisions"].push_back(decision);
  return out;
}

}  // namespace

std::string_view name(StepNow now) {
  switch (now) {
    case StepNow::kDone:
      return "done";
    case StepNow::kRunning:
      return "running";
    case StepNow::kNoResult:
      return "execute started, result missing";
    case StepNow::kWaited:
      return "waited";
  }
  return "";
}

Result<Story> story_of(const State& state, const std::string& run_id, const Page& page) {
  auto& store = *state.store;
  Story out;
  PAWL_TRY(out.run, store.run(run_id));
  PAWL_TRY(out.fork, store.fork_of(run_id));
  PAWL_TRY(out.budgets, budgets_of(store, run_id));
  PAWL_TRY(out.unknown_executions, store.unknown_usages(run_id));
  PAWL_TRY(out.operators, operators_of_run(store, run_id, kOperatorRowsRead));
  out.seen_in_part = seen_in_part(state, out.run);
  out.not_judged_with = not_judged_with(store, out.run);
  PAWL_TRY(auto phases, phases_of(store, run_id, page));
  out.more_phases = phases.size() > page.phases_max;
  if (out.more_phases) phases.pop_back();
  Reader reader(state, page);
  for (const auto& row : phases) {
    PAWL_TRY(PhaseStory phase, reader.phase(row));
    out.phases.push_back(std::move(phase));
  }
  return out;
}

Json to_json(const Story& story) {
  Json out = {{"run_id", story.run.run_id}, {"state", name(story.run.state)}, {"phases", Json::array()}};
  for (const auto& phase : story.phases) {
    Json shown = {{"phase_id", phase.row.phase_id},
                  {"state", name(phase.row.state)},
                  {"outcome", name(phase.row.outcome)},
                  {"attempts_used", phase.row.attempts_used},
                  {"attempts_total", phase.row.attempts_total},
                  {"attempts", Json::array()}};
    if (const auto& unseen = story.not_judged_with; unseen && unseen->phase_id == phase.row.phase_id)
      shown["not_judged_with"] = unseen->phases;
    for (const auto& attempt : phase.attempts) shown["attempts"].push_back(to_json(attempt));
    out["phases"].push_back(std::move(shown));
  }
  if (story.unknown_executions > 0) out["unknown_executions"] = story.unknown_executions;
  if (story.seen_in_part) out["seen_in_part"] = to_json(*story.seen_in_part);
  return out;
}

}  // namespace pawl::views
