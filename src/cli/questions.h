// Questions of agents to people in attempts that are not over, and their display while a run goes on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/journal.h"
#include "cli/context.h"
#include "cli/progress.h"
#include "cli/run_loop.h"
#include "secrets/redact.h"

namespace pawl::cli {

// An episode of an attempt that is not over. While its step runs, the socket takes answers.
struct Asking {
  agent::EpisodeKey key;
  std::string operator_socket;  // "": its agent does not run
};
// Episodes of one phase, or of the whole run when `phase_id` is "".
Result<std::vector<Asking>> asking_of_run(const State& state, const std::string& run_id,
                                          const std::string& phase_id);
// Returns no questions when the episode has no file yet.
Result<std::vector<agent::Question>> questions_of(const std::string& folder, const agent::EpisodeKey& key);
Json to_json(const agent::EpisodeKey& key, const agent::Question& question);

// A question without an answer.
struct OpenQuestion {
  agent::EpisodeKey key;
  agent::Question question;  // its text without secrets
};
Result<std::vector<OpenQuestion>> open_questions(const State& state, const std::string& run_id);
// For example "fix asks: Deploy?", on one line.
std::string question_line(const OpenQuestion& open);
std::string answer_command(const std::string& run_id);
Json questions_json(const std::vector<OpenQuestion>& open);

// While it lives, reports each question of the runs' agents once to a Progress.
class QuestionTeller {
 public:
  QuestionTeller(const LoopOptions& options, Progress& progress);
  ~QuestionTeller();
  QuestionTeller(const QuestionTeller&) = delete;
  QuestionTeller& operator=(const QuestionTeller&) = delete;

 private:
  void tell();
  void look(const State& state, const secrets::Redactor& redactor);

  const LoopOptions& options_;
  Progress& progress_;
  std::set<std::string> told_;  // only for the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread teller_;
};

}  // namespace pawl::cli
