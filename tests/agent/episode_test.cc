// Opening an episode, its groups, its bounds.
#include "agent/episode.h"

#include <gtest/gtest.h>

#include "support/episode_fixture.h"

namespace pawl::agent {
namespace {

using Episodes = EpisodeTest;

TEST_F(Episodes, WhatWasSavedIsLoadedByTheNextProcess) {
  const std::string payload = state_text(300'000);
  const auto saved = save(*episode_, "planner-0", payload);
  ASSERT_TRUE(saved) << saved.error().message;
  reopen();
  const auto loaded = episode_->load("planner-0", {}, kNow);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->payload, payload);
  EXPECT_EQ(loaded->checkpoint.seq, saved->seq);
  EXPECT_EQ(loaded->checkpoint.hash, saved->hash);
  EXPECT_EQ(loaded->damaged, 0);
}

}  // namespace
}  // namespace pawl::agent
