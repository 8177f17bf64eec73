// Shows a person the questions of agents while their runs go on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/render/progress.h"
#include "executor/state.h"
#include "secrets/redact.h"

namespace pawl::cli {

// While it lives, reports each question of the runs' agents once to a Progress, from a thread of its own.
class QuestionReporter {
 public:
  // All arguments must outlive it.
  QuestionReporter(const executor::State& state, const std::vector<std::string>& run_ids, Progress& progress);
  ~QuestionReporter();
  QuestionReporter(const QuestionReporter&) = delete;
  QuestionReporter& operator=(const QuestionReporter&) = delete;

 private:
  void run();
  void look(const executor::State& state, const secrets::Redactor& redactor);

  const executor::State& state_;
  const std::vector<std::string>& run_ids_;
  Progress& progress_;
  std::set<std::string> reported_;  // only for the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace pawl::cli
