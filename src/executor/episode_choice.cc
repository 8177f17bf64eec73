#include "executor/episode_choice.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/lines.h"

namespace pawl::executor {
namespace {

// The criteria in order; a smaller rank is better. An episode that was cancelled or not run ranks last.
constexpr std::array<std::string_view, 3> kWords = {"gates_passed", "failing_signals", "changed_lines"};

std::array<std::int64_t, 4> rank_of(const EpisodeResult& result) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const bool judged =
      result.outcome == EpisodeResult::Outcome::kFailed || result.outcome == EpisodeResult::Outcome::kLost;
  return {judged ? 0 : 1, -result.gates_passed, result.failing_signals, result.changed_lines.value_or(kMost)};
}

// "@@ -3,2 +3 @@" has 2 lines on side '-' and 1 on side '+'.
std::int64_t hunk_lines(std::string_view header, char side) {
  auto at = header.find(side, 2) + 1;
  const auto number = [&] {
    std::int64_t out = 0;
    while (at < header.size() && header[at] >= '0' && header[at] <= '9')
      out = out * 10 + (header[at++] - '0');
    return out;
  };
  number();
  if (at >= header.size() || header[at] != ',') return 1;
  ++at;
  return number();
}

}  // namespace

std::string_view name(EpisodeResult::Outcome outcome) {
  switch (outcome) {
    case EpisodeResult::Outcome::kPassed:
      return "passed";
    case EpisodeResult::Outcome::kFailed:
      return "failed";
    case EpisodeResult::Outcome::kLost:
    case EpisodeResult::Outcome::kEscalated:
      return "lost";
    case EpisodeResult::Outcome::kCancelled:
      return "cancelled";
    case EpisodeResult::Outcome::kNotRun:
      return "not_run";
  }
  return "";
}

bool decides(const EpisodeResult& result) {
  return result.outcome == EpisodeResult::Outcome::kPassed ||
         result.outcome == EpisodeResult::Outcome::kEscalated;
}

// Counts within hunks only, because a line of a file may look like any header.
std::int64_t lines_changed_by(std::string_view patch) {
  std::int64_t changed = 0;
  std::int64_t before = 0, after = 0;  // lines that the hunk still has, on both sides
  for (const auto line : TextLines(patch)) {
    if (before > 0 || after > 0) {
      const char kind = line.empty() ? ' ' : line.front();
      before -= kind == '-' || kind == ' ' ? 1 : 0;
      after -= kind == '+' || kind == ' ' ? 1 : 0;
      changed += kind == '-' || kind == '+' ? 1 : 0;
    } else if (line.starts_with("@@ -")) {
      before = hunk_lines(line, '-');
      after = hunk_lines(line, '+');
    }
  }
  return changed;
}

EpisodeChoice choose_episode(std::span<const EpisodeResult> results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (decides(results[i]))
      return {.index = i,
              .kept_by = results[i].outcome == EpisodeResult::Outcome::kPassed ? "passed" : "escalate"};
  std::size_t best = 0;
  for (std::size_t i = 1; i < results.size(); ++i)
    if (rank_of(results[i]) < rank_of(results[best])) best = i;
  const auto mine = rank_of(results[best]);
  // The first criterion that separates the best from its closest rival.
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == best) continue;
    const auto other = rank_of(results[i]);
    std::size_t place = 0;
    while (place < mine.size() && mine[place] == other[place]) ++place;
    deepest = std::max(deepest, place);
  }
  if (deepest == mine.size()) return {.index = best, .kept_by = "episode"};
  return {.index = best, .kept_by = kWords[deepest == 0 ? 0 : deepest - 1]};
}

}  // namespace pawl::executor
