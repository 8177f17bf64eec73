// What agents ask people, in attempts that are not over, and saying so while a run goes on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/episode.h"
#include "cli/context.h"
#include "cli/progress.h"
#include "cli/run_loop.h"
#include "secrets/redact.h"

namespace pawl::cli {

// An episode of an attempt that is not over, and the socket on which its step, while it runs, takes answers.
struct Asking {
  agent::EpisodeKey key;
  std::string operator_socket;  // "": its agent does not run
};
// Of one phase, or of all of the run: "".
Result<std::vector<Asking>> asking_of_run(const State& state, const std::string& run_id,
                                          const std::string& phase_id);
// Nothing when it has told nothing.
Result<std::vector<agent::Question>> questions_of(const std::string& folder, const agent::EpisodeKey& key);
Json to_json(const agent::EpisodeKey& key, const agent::Question& question);

// A question that waits for its answer.
struct OpenQuestion {
  agent::EpisodeKey key;
  agent::Question question;  // its text without secrets
};
Result<std::vector<OpenQuestion>> open_questions(const State& state, const std::string& run_id);
// "fix asks: Deploy?", one line.
std::string question_line(const OpenQuestion& open);
std::string answer_command(const std::string& run_id);
Json questions_json(const std::vector<OpenQuestion>& open);

// While it lives, tells a Progress of each question of the runs' agents, once.
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
  std::set<std::string> told_;  // of the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread teller_;
};

}  // namespace pawl::cli
