// Which of several tries of an attempt is the one that counts (best_of): a pure function of what became of
// each, so that whoever asks again after a crash gets the same answer, however long anything took.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pawl::executor {

struct EpisodeResult {
  enum class Outcome {
    kPassed,     // every gate
    kFailed,     // its agent or a gate
    kLost,       // a crash took its result, and the resume policy gave it up
    kEscalated,  // the same, and a person has to look
    kCancelled,  // ended, because an earlier one decides
    kNotRun,     // for the same reason
  };
  std::int64_t episode = 1;
  Outcome outcome = Outcome::kFailed;
  std::int64_t gates_passed = 0;
  std::int64_t failing_signals = 0;
  std::optional<std::int64_t> changed_lines;  // of its agent; nothing: it was not asked for
};

std::string_view name(EpisodeResult::Outcome outcome);  // passed, failed, lost, lost, cancelled, not_run

// Whether this one ends the attempt, with those before it over: no other is started, and what runs is ended.
bool decides(const EpisodeResult& result);

struct EpisodeChoice {
  std::size_t index = 0;  // into the results
  // passed | escalate | gates_passed | failing_signals | changed_lines | episode: the first thing by which it
  // is better than every other one; "episode": it is only the first of equals.
  std::string_view kept_by;
};

// Lines that a unified diff adds or removes.
std::int64_t lines_changed_by(std::string_view patch);

// The first that decides; else the best by gates passed, then fewer failing signals, then fewer changed
// lines, then the lower number. REQUIRES: there are some, in the order of their numbers.
EpisodeChoice choose_episode(std::span<const EpisodeResult> results);

}  // namespace pawl::executor
