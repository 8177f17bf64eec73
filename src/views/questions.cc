#include "views/questions.h"

#include <algorithm>
#include <iterator>

#include "agent/journal.h"
#include "executor/reported.h"
#include "executor/steps.h"
#include "os/file.h"
#include "supervisor/supervisor.h"

namespace pawl::views {
namespace {

// The episode of an attempt, or with several episodes each one whose agent has begun.
Result<std::vector<Asking>> asking_in(const State& state, const store::AttemptRow& attempt,
                                      const std::vector<store::StepRow>& open) {
  PAWL_TRY(const auto steps, state.store->steps_of_attempt(attempt.run_id, attempt.attempt_id));
  std::vector<std::int64_t> episodes;
  for (const auto& step : steps)
    if (step.gate_id == executor::kAgentGate && std::ranges::find(episodes, step.episode) == episodes.end())
      episodes.push_back(step.episode);
  if (episodes.empty()) episodes.push_back(0);
  std::vector<Asking> out;
  for (const auto episode : episodes) {
    Asking found{.key = {attempt.run_id, attempt.phase_id, executor::episode_id(attempt.attempt_id, episode)},
                 .operator_socket = {}};
    const auto step = std::ranges::find_if(open, [&](const store::StepRow& row) {
      return row.run_id == attempt.run_id && row.attempt_id == attempt.attempt_id && row.episode == episode &&
             row.gate_id == executor::kAgentGate;
    });
    if (step != open.end())
      found.operator_socket = os::join(supervisor::spool_folder(state.folder, step->sandbox_run_id),
                                       std::string(supervisor::kOperatorSocket));
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace

Result<std::vector<Asking>> asking_of_run(const State& state, const std::string& run_id,
                                          const std::string& phase_id) {
  std::vector<Asking> out;
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  PAWL_TRY(const auto open, state.store->open_steps());
  for (const auto& phase : phases) {
    if (!phase_id.empty() && phase.phase_id != phase_id) continue;
    if (phase.state != store::PhaseState::kExecuting) continue;
    PAWL_TRY(const auto attempts, state.store->attempts(run_id, phase.phase_id));
    if (attempts.empty() || attempts.back().finished) continue;
    PAWL_TRY(auto found, asking_in(state, attempts.back(), open));
    std::ranges::move(found, std::back_inserter(out));
  }
  return out;
}

Result<std::vector<agent::Question>> questions_of(const std::string& folder, const agent::EpisodeKey& key) {
  PAWL_TRY(const std::string path, agent::episode_path(folder, key));
  const auto journal = agent::Journal::open(path, agent::Journal::Access::kReadOnly);
  if (!journal && journal.error().kind == ErrorKind::kNotFound) return std::vector<agent::Question>();
  if (!journal) return std::unexpected(journal.error());
  return (*journal)->questions();
}

Json to_json(const agent::EpisodeKey& key, const agent::Question& question) {
  Json out = {{"phase_id", key.goal_id},   {"episode_id", key.episode_id}, {"key", question.key},
              {"question", question.text}, {"choices", question.choices},  {"asked_at", question.asked_at}};
  if (question.answer) out["answer"] = *question.answer;
  return out;
}

Result<std::vector<OpenQuestion>> open_questions(const State& state, const secrets::Redactor& redactor,
                                                 const std::vector<std::string>& run_ids) {
  std::vector<OpenQuestion> out;
  PAWL_TRY(const auto steps, state.store->open_steps());
  for (const auto& step : steps) {
    if (step.gate_id != executor::kAgentGate || std::ranges::find(run_ids, step.run_id) == run_ids.end())
      continue;
    const agent::EpisodeKey key{step.run_id, step.phase_id,
                                executor::episode_id(step.attempt_id, step.episode)};
    auto questions = questions_of(state.folder, key);
    if (!questions) continue;  // `pawl answer` says why an episode can't be read
    for (auto& question : *questions) {
      if (question.answer) continue;
      question.text = redactor.redact(question.text);
      out.push_back({key, std::move(question)});
    }
  }
  return out;
}

Result<std::vector<OpenQuestion>> open_questions(const State& state, const std::string& run_id) {
  PAWL_TRY(const auto redactor, secrets::open_redactor(state.folder));
  return open_questions(state, *redactor, {run_id});
}

Json to_json(const std::vector<OpenQuestion>& open) {
  Json out = Json::array();
  for (const auto& one : open) out.push_back(to_json(one.key, one.question));
  return out;
}

}  // namespace pawl::views
