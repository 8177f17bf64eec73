// Chooses the episode of an attempt that counts (best_of). A pure function of the episodes' results: a caller
// that asks again after a crash gets the same response, whatever the timing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pawl::executor {

struct EpisodeResult {
  enum class Outcome {
    kPassed,     // every gate
    kFailed,     // its agent or a gate failed
    kLost,       // a crash took its result, and the resume policy gave it up
    kEscalated,  // like kLost, and a person has to look
    kCancelled,  // ended, because an earlier episode decides
    kNotRun,     // not started, for the same reason
  };
  std::int64_t episode = 1;
  Outcome outcome = Outcome::kFailed;
  std::int64_t gates_passed = 0;
  std::int64_t failing_signals = 0;
  std::optional<std::int64_t> changed_lines;  // changed by its agent; no value: not computed
};

std::string_view name(EpisodeResult::Outcome outcome);  // passed, failed, lost, lost, cancelled, not_run

// Whether this episode ends the attempt once all episodes before it are over: no other episode is started, and
// running episodes are ended.
bool decides(const EpisodeResult& result);

struct EpisodeChoice {
  std::size_t index = 0;  // into the results
  // passed | escalate | gates_passed | failing_signals | changed_lines | episode: the first criterion by
  // which it is better than every other episode. "episode": others are equal, and this is the first.
  std::string_view kept_by;
};

// The number of lines that a unified diff adds or removes.
std::int64_t lines_changed_by(std::string_view patch);

// Returns the first episode that decides. If none decides: the best by gates passed, then fewer failing
// signals, then fewer changed lines, then the lower number. REQUIRES: `results` is not empty and is ordered
// by number.
EpisodeChoice choose_episode(std::span<const EpisodeResult> results);

}  // namespace pawl::executor
