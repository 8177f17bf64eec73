// The chosen episode is the same for the same results, whatever the timing.
#include "executor/episode_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <vector>

namespace pawl::executor {
namespace {

using Outcome = EpisodeResult::Outcome;

std::vector<EpisodeResult> failed(std::vector<std::array<std::int64_t, 3>> facts) {
  std::vector<EpisodeResult> out;
  for (const auto& [gates, failing, lines] : facts)
    out.push_back({.episode = static_cast<std::int64_t>(out.size()) + 1,
                   .gates_passed = gates,
                   .failing_signals = failing,
                   .changed_lines = lines});
  return out;
}

void expect_kept(const std::vector<EpisodeResult>& results, std::int64_t episode, std::string_view kept_by) {
  const auto choice = choose_episode(results);
  EXPECT_EQ(results[choice.index].episode, episode);
  EXPECT_EQ(choice.kept_by, kept_by);
}

TEST(EpisodeChoice, TakesTheFirstThatPassed) {
  auto results = failed({{2, 1, 1}, {3, 0, 900}, {3, 0, 1}});
  results[1].outcome = results[2].outcome = Outcome::kPassed;
  expect_kept(results, 2, "passed");
}

TEST(EpisodeChoice, OneForAPersonDecidesLikeOneThatPassed) {
  auto results = failed({{0, 1, 0}, {2, 1, 0}});
  results[0].outcome = Outcome::kEscalated;
  expect_kept(results, 1, "escalate");
  EXPECT_TRUE(decides(results[0]));
  EXPECT_FALSE(decides(results[1]));
}

TEST(EpisodeChoice, ElseByGatesThenSignalsThenLinesThenNumber) {
  expect_kept(failed({{0, 1, 1}, {2, 9, 900}, {1, 1, 1}}), 2, "gates_passed");
  expect_kept(failed({{1, 3, 1}, {1, 2, 900}, {0, 1, 1}}), 2, "failing_signals");
  expect_kept(failed({{1, 2, 30}, {1, 3, 1}, {1, 2, 20}}), 3, "changed_lines");
  expect_kept(failed({{1, 2, 30}, {1, 2, 20}, {1, 2, 20}}), 2, "episode");
}

TEST(EpisodeChoice, WorkThatNobodyCouldCountIsBehindAllThatWas) {
  auto results = failed({{1, 2, 0}, {1, 2, 900}});
  results[0].changed_lines.reset();
  expect_kept(results, 2, "changed_lines");
}

TEST(EpisodeChoice, WhatWasNotJudgedIsBehindWhatFailed) {
  auto results = failed({{0, 0, 0}, {0, 5, 900}, {0, 0, 0}});
  results[0].outcome = Outcome::kNotRun;
  results[2].outcome = Outcome::kCancelled;
  EXPECT_EQ(choose_episode(results).index, 1U);
}

TEST(EpisodeChoice, WhatWasLostIsJudgedLikeWhatFailed) {
  auto results = failed({{0, 5, 900}, {2, 1, 1}, {0, 0, 0}});
  results[1].outcome = Outcome::kLost;
  results[2].outcome = Outcome::kNotRun;
  expect_kept(results, 2, "gates_passed");
}

TEST(EpisodeChoice, FollowsFromTheResultsAlone) {
  std::mt19937 dice(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::array<std::int64_t, 3>> facts(1 + dice() % 8);
    for (auto& fact : facts)
      for (auto& number : fact) number = dice() % 3;
    const auto results = failed(facts);
    const auto kept = choose_episode(results).index;
    for (int again = 0; again < 20; ++again) ASSERT_EQ(choose_episode(results).index, kept);
    const auto key = [](const EpisodeResult& one) {
      return std::tuple(-one.gates_passed, one.failing_signals, *one.changed_lines, one.episode);
    };
    const auto best = std::ranges::min_element(results, {}, key);
    ASSERT_EQ(results[kept].episode, best->episode);
  }
}

TEST(EpisodeChoice, CountsTheLinesOfADiff) {
  EXPECT_EQ(lines_changed_by(""), 0);
  EXPECT_EQ(lines_changed_by("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"), 3);
  // A changed line that looks like a header still counts.
  EXPECT_EQ(lines_changed_by("--- a/x\n+++ b/x\n@@ -1 +1,2 @@ f(\n--- a\n+++ b\n++\n"
                             "\\ No newline at end of file\n"
                             "diff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"),
            4);
}

}  // namespace
}  // namespace pawl::executor
