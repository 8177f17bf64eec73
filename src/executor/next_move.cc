#include "executor/next_move.h"

#include <algorithm>

namespace pawl::executor {
namespace {

using Kind = Move::Kind;

// The first episode whose step runs; the number of episodes when none does.
std::size_t first_running(const AttemptState& state) {
  const auto found = std::ranges::find(state.episodes, Doing::kRunning, &EpisodeState::doing);
  return static_cast<std::size_t>(found - state.episodes.begin());
}

Move of_episodes(const AttemptState& state) {
  const std::size_t count = state.episodes.size();
  const std::size_t running = first_running(state);
  // No other agent is started meanwhile: the same provider would refuse it, too.
  if (std::ranges::find(state.episodes, Doing::kWaiting, &EpisodeState::doing) != state.episodes.end())
    return running < count ? Move{Kind::kWatch, running} : Move{Kind::kWait};
  // The end of another step may free enough budget.
  if (state.out_of_budget) return running < count ? Move{Kind::kWatch, running} : Move{Kind::kLeave};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& episode = state.episodes[i];
    switch (episode.doing) {
      case Doing::kUnknown:
        return {Kind::kFindStep, i};
      case Doing::kReady:
        return {Kind::kStart, i};
      case Doing::kRunning:
        return {count > 1 && !episode.runs_alone ? Kind::kWatchBeside : Kind::kWatch, i};
      case Doing::kWaiting:
      case Doing::kOver:
        break;
    }
    if (episode.decides) break;
  }
  return running < count ? Move{Kind::kEnd, running} : Move{Kind::kChoose};
}

Move of_chosen(const AttemptState& state) {
  if (state.out_of_budget) return {Kind::kLeave};
  switch (state.chosen.doing) {
    case Doing::kUnknown:
      return {Kind::kFindStep};
    case Doing::kReady:
      return {Kind::kStart};
    case Doing::kRunning:
      return {Kind::kWatch};
    case Doing::kWaiting:
    case Doing::kOver:
      break;
  }
  return {state.stage == Stage::kGates ? Kind::kAskHooks : Kind::kFinish};
}

}  // namespace

Move next_move(const AttemptState& state) {
  return state.stage == Stage::kEpisodes ? of_episodes(state) : of_chosen(state);
}

}  // namespace pawl::executor
