// Every state of an attempt, and the move that follows.
#include "executor/next_move.h"

#include <gtest/gtest.h>

namespace pawl::executor {
namespace {

using Kind = Move::Kind;

constexpr EpisodeState kNew = {.doing = Doing::kUnknown}, kReady = {.doing = Doing::kReady},
                       kRunning = {.doing = Doing::kRunning}, kFailed = {.doing = Doing::kOver},
                       kDecides = {.doing = Doing::kOver, .decides = true},
                       kOnBase = {.doing = Doing::kRunning, .runs_alone = true};

struct Row {
  std::vector<EpisodeState> episodes;
  Move then, then_out_of_budget;
};

TEST(NextMove, TheFirstEpisodeThatIsNotOverIsWorkedOn) {
  const std::vector<Row> rows = {
      {{kNew}, {Kind::kFindStep, 0}, {Kind::kLeave}},
      {{kReady}, {Kind::kStart, 0}, {Kind::kLeave}},
      {{kRunning}, {Kind::kWatch, 0}, {Kind::kWatch, 0}},
      {{kFailed}, {Kind::kChoose}, {Kind::kLeave}},
      {{kNew, kNew}, {Kind::kFindStep, 0}, {Kind::kLeave}},
      {{kFailed, kNew}, {Kind::kFindStep, 1}, {Kind::kLeave}},
      {{kFailed, kReady, kNew}, {Kind::kStart, 1}, {Kind::kLeave}},
      {{kFailed, kFailed}, {Kind::kChoose}, {Kind::kLeave}},
      // Agents of several episodes run at once, but the gates run on base before the first agent.
      {{kRunning, kNew}, {Kind::kWatchBeside, 0}, {Kind::kWatch, 0}},
      {{kRunning, kRunning}, {Kind::kWatchBeside, 0}, {Kind::kWatch, 0}},
      {{kOnBase, kNew}, {Kind::kWatch, 0}, {Kind::kWatch, 0}},
      // Out of budget: the end of another agent may free enough.
      {{kReady, kRunning}, {Kind::kStart, 0}, {Kind::kWatch, 1}},
      {{kNew, kReady, kRunning}, {Kind::kFindStep, 0}, {Kind::kWatch, 2}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(next_move({.episodes = rows[i].episodes}), rows[i].then) << i;
    EXPECT_EQ(next_move({.episodes = rows[i].episodes, .out_of_budget = true}), rows[i].then_out_of_budget)
        << i << ", out of budget";
  }
}

TEST(NextMove, ARefusedAgentMakesTheWholeAttemptWait) {
  constexpr EpisodeState kWaiting = {.doing = Doing::kWaiting};
  for (const bool out_of_budget : {false, true}) {
    const auto move = [&](std::vector<EpisodeState> episodes) {
      return next_move({.episodes = std::move(episodes), .out_of_budget = out_of_budget});
    };
    EXPECT_EQ(move({kWaiting}), Move{Kind::kWait});
    EXPECT_EQ(move({kWaiting, kRunning, kNew}), (Move{Kind::kWatch, 1})) << "another one ends first";
    EXPECT_EQ(move({kRunning, kWaiting}), (Move{Kind::kWatch, 0}));
    EXPECT_EQ(move({kNew, kWaiting, kReady}), Move{Kind::kWait}) << "no other agent begins";
    EXPECT_EQ(move({kWaiting, kDecides}), Move{Kind::kWait}) << "the first one may decide, too";
  }
}

TEST(NextMove, AnEpisodeThatDecidesEndsTheLaterOnes) {
  EXPECT_EQ(next_move({.episodes = {kDecides, kNew}}), Move{Kind::kChoose});
  EXPECT_EQ(next_move({.episodes = {kDecides, kRunning, kRunning}}), (Move{Kind::kEnd, 1}));
  EXPECT_EQ(next_move({.episodes = {kDecides, kNew, kRunning}}), (Move{Kind::kEnd, 2}));
  EXPECT_EQ(next_move({.episodes = {kFailed, kDecides, kReady}}), Move{Kind::kChoose});
  EXPECT_EQ(next_move({.episodes = {kRunning, kDecides}}), (Move{Kind::kWatchBeside, 0}))
      << "the first one may decide, too";
}

TEST(NextMove, TheChosenEpisodeIsJudgedThenTheHooksAreAsked) {
  const std::vector<EpisodeState> over = {kFailed, kDecides};
  for (const auto stage : {Stage::kGates, Stage::kHooks}) {
    const auto move = [&](const EpisodeState& chosen, bool out_of_budget = false) {
      return next_move({.stage = stage, .episodes = over, .chosen = chosen, .out_of_budget = out_of_budget});
    };
    EXPECT_EQ(move(kNew), Move{Kind::kFindStep});
    EXPECT_EQ(move(kReady), Move{Kind::kStart});
    EXPECT_EQ(move(kRunning), Move{Kind::kWatch});
    EXPECT_EQ(move(kFailed), Move{stage == Stage::kGates ? Kind::kAskHooks : Kind::kFinish});
    for (const auto& chosen : {kNew, kReady, kFailed}) EXPECT_EQ(move(chosen, true), Move{Kind::kLeave});
  }
}

}  // namespace
}  // namespace pawl::executor
