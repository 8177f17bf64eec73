// Rows of older versions lack members; the members that they have are compared.
#include "store/limits.h"

#include <gtest/gtest.h>

namespace pawl::store {
namespace {

TEST(LimitsByRows, OfALostStepAnOlderVersionDoesNotSayHowLongItRan) {
  const auto contradicted = [](const std::vector<Json>& rows, std::int64_t spent) {
    SpentByRows by_rows;
    for (const auto& row : rows) by_rows.add(row);
    return !by_rows.contradicted_by({{.unit = std::string(kSandboxMs), .spent = spent}}).empty();
  };
  const Json executed{{"type", "executed"}, {"duration_ms", 100}};
  for (const char* decision : {"re_execute", "skip", "escalate", "cancelled"}) {
    const Json old{{"type", "resume"}, {"decision", decision}};
    Json now = old;
    now["spent_ms"] = 20;
    EXPECT_FALSE(contradicted({executed, old}, 100));
    EXPECT_FALSE(contradicted({executed, old}, 170)) << "it may have taken that long";
    EXPECT_TRUE(contradicted({executed, old}, 99)) << "what others took is known";
    EXPECT_FALSE(contradicted({executed, now}, 120));
    for (const std::int64_t spent : {0, 119, 121}) EXPECT_TRUE(contradicted({executed, now}, spent));
  }
  for (const char* decision : {"reattach", "adopt", "probed"})
    EXPECT_TRUE(contradicted({executed, {{"type", "resume"}, {"decision", decision}}}, 101)) << decision;
}

TEST(LimitsByRows, SumsEndAtTheTop) {
  SpentByRows by_rows;
  for (int i = 0; i < 3; ++i)
    by_rows.add({{"type", "usage"}, {"input_tokens", kSpentMax}, {"output_tokens", 1}});
  EXPECT_EQ(by_rows.contradicted_by({{.unit = std::string(kTokens), .spent = kSpentMax}}), "");
}

TEST(LimitsByRows, AFirstRowThatDoesNotSayTiersContradictsNone) {
  const Json old{{"phases", {"a"}}},
      now{{"phases", {"a"}},
          {"caps", {{"tokens", 5}}},
          {"tiers",
           {{{"name", "t"}, {"stop_on_failure", true}, {"parallel", false}, {"max_attempts", {3}}}}}};
  const std::vector<TierRow> tiers = {{.name = "t"}}, others = {{.name = "t", .parallel = true}};
  EXPECT_TRUE(are_tiers_of(old, others));
  EXPECT_TRUE(are_tiers_of(now, tiers));
  EXPECT_FALSE(are_tiers_of(now, others));
  EXPECT_FALSE(PlacesByRows(old).are_said());
  EXPECT_EQ(attempts_planned(old, 0, 0), std::nullopt);
  EXPECT_EQ(attempts_planned(now, 0, 0), 3);
  for (const auto& [tier, place] : {std::pair(0, 1), std::pair(1, 0), std::pair(-1, 0), std::pair(0, -1)})
    EXPECT_EQ(attempts_planned(now, tier, place), std::nullopt);
  const std::vector<BudgetRow> capped = {{.unit = std::string(kTokens), .cap = 5}};
  EXPECT_EQ(cap_contradicted(old, {}, capped), "");
  EXPECT_EQ(cap_contradicted(now, {}, capped), "");
  EXPECT_EQ(cap_contradicted(now, {}, {}), kTokens);
  EXPECT_EQ(cap_contradicted(old, {{"tokens", 6}}, capped), kTokens) << "an operator's row says it";
  EXPECT_EQ(cap_contradicted(now, {{"tokens", 5}, {"usd_nanos", 1}}, capped), kUsdNanos);
}

// The rows do not say whether an attempt was under way when an operator set the limit.
TEST(LimitsByRows, AnOperatorsLimitIsAtLeastWhatWasUsed) {
  const auto limit_is = [](std::int64_t most, std::int64_t attempts, std::int64_t limit) {
    AttemptsByRows by_rows(9, false);
    for (std::int64_t i = 0; i < attempts; ++i) by_rows.add({{"type", "attempt"}, {"revision", 0}});
    by_rows.add({{"type", "operator"}, {"action", "max_attempts " + std::to_string(most)}});
    return by_rows
        .contradicted_by({.attempts_used = attempts,
                          .max_attempts = limit,
                          .attempts_total = attempts,
                          .escalation_level = std::max<std::int64_t>(attempts - 1, 0)},
                         0)
        .empty();
  };
  EXPECT_TRUE(limit_is(5, 2, 5));
  EXPECT_FALSE(limit_is(5, 2, 4));
  EXPECT_FALSE(limit_is(5, 2, 6));
  EXPECT_FALSE(limit_is(5, 2, 9)) << "nor the plan's";
  EXPECT_TRUE(limit_is(1, 2, 2));
  EXPECT_TRUE(limit_is(1, 2, 3));
  EXPECT_FALSE(limit_is(1, 2, 4));
}

struct Counters {
  std::int64_t level, doctor_calls, replans;
};

// The phase has a new goal of a replanner after two attempts, and is in the first attempt at that goal.
std::string_view counters_contradicted(const Counters& counters, std::optional<std::int64_t> planned,
                                       bool inherits) {
  const auto call = [](const std::string& label, int execution) {
    return Json{{"type", "pre_execute"}, {"attempt_id", "a.b.2"}, {"label", label}, {"execution", execution}};
  };
  AttemptsByRows by_rows(planned, inherits);
  by_rows.add({{"type", "attempt"}, {"revision", 0}});
  by_rows.add(call("a.b.doctor.run.attempt2", 1));
  by_rows.add(call("a.b.doctor.run.attempt2", 2));  // the first was lost
  by_rows.add(call("a.b.replan.run.attempt2", 1));
  by_rows.add(call("a.b.doctored.run.attempt2", 1));  // a gate
  by_rows.add({{"type", "attempt"}, {"revision", 0}});
  by_rows.add({{"type", "replan"}, {"revision", 1}});
  return by_rows.contradicted_by({.attempts_used = 1,
                                  .max_attempts = 9,
                                  .revision = 1,
                                  .attempts_total = 3,
                                  .escalation_level = counters.level,
                                  .doctor_calls = counters.doctor_calls,
                                  .replans = counters.replans},
                                 1);
}

TEST(LimitsByRows, TheLadderAndCallsOfHooksAreCounted) {
  EXPECT_EQ(counters_contradicted({1, 1, 1}, 9, false), "");
  for (const std::int64_t level : {0, 2})
    EXPECT_EQ(counters_contradicted({level, 1, 1}, 9, false), "escalation_level");
  for (const std::int64_t calls : {0, 2})
    EXPECT_EQ(counters_contradicted({1, calls, 1}, 9, false), "doctor_calls");
  for (const std::int64_t replans : {0, 2})
    EXPECT_EQ(counters_contradicted({1, 1, replans}, 9, false), "replans");
  EXPECT_EQ(counters_contradicted({2, 1, 1}, 9, true), "") << "a fork goes on with the level of its origin";
  EXPECT_EQ(counters_contradicted({0, 1, 1}, 9, true), "escalation_level");
  EXPECT_EQ(counters_contradicted({0, 0, 0}, std::nullopt, false), "") << "rows of an older version";
}

}  // namespace
}  // namespace pawl::store
