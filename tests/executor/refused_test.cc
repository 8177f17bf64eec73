// The wait that follows when the provider of a model refused an agent.
#include "executor/refused.h"

#include <gtest/gtest.h>

namespace pawl::executor {
namespace {

constexpr WallTime kEnded{1'795'874'400'000'000};
constexpr std::int64_t kMinuteMs = 60'000, kHourMs = 60 * kMinuteMs, kDayMs = 24 * kHourMs;

std::optional<store::Wait> after(const agent::Refusal& refusal, store::WaitsSoFar so_far = {},
                                 std::vector<plan::Credential> credentials = {}) {
  plan::Phase phase;
  phase.agent_usage = "codex";
  phase.credentials = std::move(credentials);
  return wait_after(refusal, phase, so_far, kEnded, 7);
}

agent::Refusal reset_in_ms(std::int64_t ms) {
  return {.status = 429, .reset = agent::Reset{.at = kEnded.plus_ms(ms)}};
}

TEST(Refused, ItWaitsUntilTheTimeThatTheProviderNames) {
  const auto wait = after(reset_in_ms(90'000));
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->not_before, rfc3339(kEnded.plus_ms(90'007)));
  EXPECT_EQ(wait->reset, rfc3339(kEnded.plus_ms(90'000)));
  EXPECT_EQ(wait->source, "provider");
  EXPECT_EQ(wait->provider, "openai");
  EXPECT_EQ(wait->number, 1);
  EXPECT_EQ(wait->credential, "");
}

TEST(Refused, WithoutATimeItWaitsAMinuteThatDoublesToAnHour) {
  for (const auto& [count, minutes] : {std::pair{0, 1}, {1, 2}, {5, 32}, {6, 60}, {99, 60}}) {
    const auto wait = after({.status = 529}, {.count = count, .backoffs = count});
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->delay_ms, minutes * kMinuteMs + 7) << count;
    EXPECT_EQ(wait->source, "backoff");
    EXPECT_EQ(wait->number, count + 1);
  }
}

// A program that cuts the time to its minute names one that is up to a minute too early.
TEST(Refused, AMinuteThatHasBegunIsAskedForSoonAndDoesNotMakeLaterWaitsLonger) {
  const auto within = [](std::int64_t ms) {
    return agent::Refusal{.status = 429,
                          .reset = agent::Reset{.at = kEnded.plus_ms(ms), .within_ms = kMinuteMs}};
  };
  for (const auto ms : {std::int64_t{0}, 1 - kMinuteMs}) {
    EXPECT_EQ(after(within(ms))->delay_ms, kWithinMinuteWaitMs + 7) << ms;
    EXPECT_EQ(after(within(ms))->source, store::kWaitOfProvider);
  }
  EXPECT_EQ(after(within(kHourMs))->delay_ms, kHourMs + 7);
  const auto later = after(within(-kMinuteMs), {.count = 20});
  EXPECT_EQ(later->source, store::kWaitOfBackoff);
  EXPECT_EQ(later->delay_ms, kMinuteMs + 7);
}

TEST(Refused, ATimeThatHasPassedOrIsTooFarAwayIsNotBelieved) {
  for (const auto ms : {std::int64_t{0}, -kHourMs, kResetMsMax + 1, 1000 * kDayMs}) {
    const auto wait = after(reset_in_ms(ms));
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->source, "backoff") << ms;
    EXPECT_EQ(wait->delay_ms, kMinuteMs + 7);
    EXPECT_NE(wait->reset, "") << "the row has what was said";
  }
  EXPECT_EQ(after(reset_in_ms(7 * kDayMs))->source, "provider");
}

TEST(Refused, AnAgentThatSaysSoForEverEndsWithAPerson) {
  EXPECT_TRUE(after(reset_in_ms(1000), {.count = store::kWaitsPerAttemptMax - 1}));
  EXPECT_FALSE(after(reset_in_ms(1000), {.count = store::kWaitsPerAttemptMax}));
  EXPECT_FALSE(after(reset_in_ms(1000), {.count = 5, .waited_ms = store::kWaitedMsPerAttemptMax}));
  EXPECT_FALSE(after({.kind = agent::RefusalKind::kUnauthorized}, {.count = store::kWaitsPerAttemptMax}));
}

TEST(Refused, ARefusedCredentialWaitsForAPersonWhoLearnsWhereItComesFrom) {
  const agent::Refusal refusal{
      .kind = agent::RefusalKind::kUnauthorized, .status = 401, .line = "no \xff key"};
  const auto wait = after(refusal, {},
                          {{.name = "OPENAI_API_KEY", .env = "MY_KEY"},
                           {.name = "A_TOKEN", .file = "~/token", .json = "/token"},
                           {.name = "B_TOKEN", .command = {"gh", "auth"}}});
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->not_before, store::kUntilAPerson);
  EXPECT_EQ(wait->source, "person");
  EXPECT_EQ(wait->delay_ms, 0);
  EXPECT_EQ(wait->credential,
            "the environment variable MY_KEY, the file ~/token at /token, the command `gh auth`");
  EXPECT_EQ(after(refusal)->credential, "") << "no sandbox has a login of the program";
  EXPECT_EQ(wait->message.find('\xff'), std::string::npos);
  EXPECT_EQ(found_refused({.kind = agent::RefusalKind::kUnauthorized}), store::RecoveryFound::kUnauthorized);
  EXPECT_EQ(found_refused({}), store::RecoveryFound::kLimited);
}

}  // namespace
}  // namespace pawl::executor
