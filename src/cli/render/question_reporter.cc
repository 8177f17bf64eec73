#include "cli/render/question_reporter.h"

#include <fmt/format.h>

#include <chrono>

#include "cli/render/words.h"
#include "views/questions.h"

namespace pawl::cli {
namespace {

constexpr auto kAskEvery = std::chrono::seconds(1);

}  // namespace

QuestionReporter::QuestionReporter(const executor::State& state, const std::vector<std::string>& run_ids,
                                   Progress& progress)
    : state_(state), run_ids_(run_ids), progress_(progress), thread_([this] { run(); }) {}

QuestionReporter::~QuestionReporter() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void QuestionReporter::run() {
  const auto state = executor::open_again(state_);
  const auto redactor = secrets::open_redactor(state_.folder);
  if (!state || !redactor) return;  // the workers get the same error, and end the run with it
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kAskEvery, [this] { return over_; })) look(*state, **redactor);
}

// Only for agents that run. An episode that can't be read now is read again at the next look.
void QuestionReporter::look(const executor::State& state, const secrets::Redactor& redactor) {
  const auto open = views::open_questions(state, redactor, run_ids_);
  if (!open) return;
  for (const auto& one : *open)
    // A question that is asked again about another loss is another question.
    if (reported_
            .insert(fmt::format("{}/{}/{}/{}", one.key.run_id, one.key.episode_id, one.question.asked_at,
                                one.question.key))
            .second)
      progress_.line(line_of("  {}\n    {}", question_line(one), answer_command(one.key.run_id)));
}

}  // namespace pawl::cli
