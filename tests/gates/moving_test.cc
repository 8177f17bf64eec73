// Names of tests that differ from run to run: how they are found, and that no other change passes with them.
#include "gates/moving.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gates/gates.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using Names = std::vector<std::string>;

// A step with these tests: "a" passed, "-b" failed, "~c" was skipped.
StepFacts unit_with(const Names& tests, std::int64_t exit_code = 0) {
  std::string junit = "<testsuite>";
  for (const auto& test : tests) {
    const bool fails = test.starts_with('-'), skipped = test.starts_with('~');
    junit += "<testcase name='" + test.substr(fails || skipped ? 1 : 0) + "'>" +
             (fails     ? "<failure/>"
              : skipped ? "<skipped/>"
                        : "") +
             "</testcase>";
  }
  StepFacts out{
      .step_name = "unit", .outcome = Outcome::kExited, .exit_code = exit_code, .declared = {"tests"}};
  MemorySource bytes(junit + "</testsuite>");
  out.reports.push_back({.path = "r.xml",
                         .format = "junit",
                         .family = "tests",
                         .report = read_report("junit", bytes, testing::plain_redactor())});
  return out;
}

OnBase inventory_of(const Names& tests) {
  const bool red = std::ranges::any_of(tests, [](const auto& test) { return test.starts_with('-'); });
  return on_base("g", {"tests"}, {unit_with(tests, red ? 1 : 0)});
}

GateFacts facts_of(const OnBase& base, StepFacts now, bool known_failing = false) {
  return {.gate_id = "g",
          .required = {"tests"},
          .steps = {std::move(now)},
          .base = base.inventories,
          .known_failing = known_failing};
}

bool passes(const GateFacts& facts) { return gate_passed(facts, evaluate(facts)); }

TEST(Moving, ASecondRunIsAskedForWhereEachLostNameHasANewOne) {
  const auto asks = [](const Names& base, const Names& now, std::int64_t exit_code = 0) {
    return names_may_move(facts_of(inventory_of(base), unit_with(now, exit_code)));
  };
  EXPECT_TRUE(asks({"adds", "at 12:00:01"}, {"adds", "at 12:00:07"}));
  EXPECT_TRUE(asks({"took 3 ms"}, {"took 41 ms", "new"}));
  EXPECT_TRUE(asks({"f[0x7ffc12]"}, {"f[0x55aa00]"}));
  EXPECT_TRUE(asks({"t::user[qzxw]", "t::user[abcd]"}, {"t::user[efgh]", "t::user[ijkl]"}));
  EXPECT_TRUE(asks({"pkg/TestA/kiwi"}, {"pkg/TestA/plum"}));
  EXPECT_FALSE(asks({"adds"}, {"adds", "more"})) << "nothing is lost";
  EXPECT_FALSE(asks({"adds", "at 12:00:01"}, {"at 12:00:07"})) << "it is refused in any case";
  EXPECT_FALSE(asks({"at 12:00:01", "at 12:00:02"}, {"at 12:00:07"})) << "one is lost";
  EXPECT_FALSE(asks({"adds"}, {"subtracts"})) << "a rename";
  EXPECT_FALSE(asks({"adds", "at 1"}, {"-adds", "at 2"}, 1)) << "it fails for another reason";
  EXPECT_FALSE(asks({"adds", "at 1"}, {"adds", "at 2"}, 1));
  EXPECT_FALSE(asks({"adds", "at 1"}, {"~adds", "at 2"}));
  EXPECT_FALSE(asks({}, {"at 2"}));
}

TEST(Moving, NamesThatDifferBetweenTwoRunsOnBaseAreHeldToByTheirNumber) {
  const auto base = held_to_both(inventory_of({"adds", "at 10", "at 11", "u[ab]"}),
                                 inventory_of({"adds", "at 20", "at 21", "u[cd]"}));
  const auto& held = base.inventories.at("tests");
  EXPECT_EQ(held.names, (Names{"adds", "at #", "at ##2", "u[*"}));
  EXPECT_EQ(held.moving, (Names{"at #", "u[*"}));
  EXPECT_FALSE(names_may_move(facts_of(base, unit_with({"adds", "at 30", "at 31", "u[ef]"}))))
      << "it ran twice";
  EXPECT_TRUE(passes(facts_of(base, unit_with({"adds", "at 30", "at 31", "u[ef]"}))));
  EXPECT_TRUE(passes(facts_of(base, unit_with({"adds", "at 30", "at 31", "at 32", "u[ef]", "new"}))));
  const auto lost = [&](const Names& now) {
    const auto signal = evaluate(facts_of(base, unit_with(now))).at(0);
    EXPECT_FALSE(signal.passed);
    EXPECT_EQ(signal.details.at("moving_names"), "at #, u[*");
    return text_in(signal.details, "gone_names") + "/" + text_in(signal.details, "newly_skipped_names");
  };
  EXPECT_EQ(lost({"at 30", "at 31", "u[ef]"}), "adds/");
  EXPECT_EQ(lost({"adds2", "at 30", "at 31", "u[ef]"}), "adds/");
  EXPECT_EQ(lost({"adds", "at 30", "u[ef]"}), "at ##2/");
  EXPECT_EQ(lost({"adds", "at 30", "~at 31", "u[ef]"}), "/at ##2");
  EXPECT_EQ(lost({"adds", "at 30", "at 31"}), "u[*/");
  const auto red = evaluate(facts_of(base, unit_with({"adds", "at 30", "-at 31", "u[ef]"}, 1))).at(0);
  EXPECT_FALSE(red.passed);
  EXPECT_FALSE(red.details.contains("gone"));
}

TEST(Moving, ANameThatBothRunsHaveIsHeldToAlsoWhereItsFormMoves) {
  const auto base = held_to_both(inventory_of({"waits 5", "at 10"}), inventory_of({"waits 5", "at 20"}));
  EXPECT_EQ(base.inventories.at("tests").names, (Names{"at #", "waits 5"}));
  EXPECT_FALSE(passes(facts_of(base, unit_with({"waits 6", "at 30"}))));
  const auto same_form = held_to_both(inventory_of({"at 5", "at 10"}), inventory_of({"at 5", "at 20"}));
  EXPECT_EQ(same_form.inventories.at("tests").names, (Names{"at #", "at 5"}));
  EXPECT_TRUE(passes(facts_of(same_form, unit_with({"at 5", "at 30"}))));
  EXPECT_FALSE(passes(facts_of(same_form, unit_with({"at 30", "at 31"}))));
}

TEST(Moving, NamesThatStayInBothRunsAreHeldToAsBefore) {
  const auto once = inventory_of({"adds", "at 1"});
  const auto base = held_to_both(once, once);
  EXPECT_EQ(base.inventories.at("tests").names, once.inventories.at("tests").names);
  const auto signal = evaluate(facts_of(base, unit_with({"adds", "at 2"}))).at(0);
  EXPECT_FALSE(signal.passed) << "the agent renamed it";
  EXPECT_EQ(signal.details.at("gone_names"), "at 1");
  EXPECT_FALSE(signal.details.contains("moving"));
  EXPECT_EQ(text_in(signal.details, "problem").find("a name that stays"), std::string::npos);
}

TEST(Moving, WhatOnlyOneRunHasIsHeldToByNothing) {
  const auto base = held_to_both(inventory_of({"adds", "sometimes"}), inventory_of({"adds"}));
  EXPECT_EQ(base.inventories.at("tests").names, Names{"adds"});
  EXPECT_EQ(base.inventories.at("tests").unsteady, Names{"sometimes"});
  EXPECT_TRUE(passes(facts_of(base, unit_with({"adds"}))));
  auto stopped = unit_with({"-adds"}, 1);
  stopped.reports.front().report->lower_bound = "it stopped early";
  const auto lower = held_to_both(inventory_of({"adds", "sometimes"}), on_base("g", {"tests"}, {stopped}));
  EXPECT_EQ(lower.inventories.at("tests").names, (Names{"adds", "sometimes"})) << "the run ended before it";
}

TEST(Moving, ASecondRunThatSaysNothingChangesNothing) {
  const auto once = inventory_of({"adds", "at 1"});
  const auto failed =
      on_base("g", {"tests"}, {{.step_name = "unit", .outcome = Outcome::kTimedOut, .declared = {"tests"}}});
  const auto base = held_to_both(once, failed);
  EXPECT_EQ(base.inventories.at("tests").names, once.inventories.at("tests").names);
  EXPECT_FALSE(names_may_move(facts_of(base, unit_with({"adds", "at 2"})))) << "it is not asked for for ever";
}

TEST(Moving, AKnownFailureWhoseNameMovesMayFailOn) {
  const Names first = {"adds", "-at 1", "at 2"}, second = {"adds", "-at 3", "at 4"};
  const auto now = [](const Names& tests) { return unit_with(tests, 1); };
  EXPECT_TRUE(names_may_move(facts_of(inventory_of(first), now({"adds", "-at 5", "at 6"}), true)));
  EXPECT_FALSE(names_may_move(facts_of(inventory_of(first), now({"-adds", "-at 5", "at 6"}), true)));
  const auto base = held_to_both(inventory_of(first), inventory_of(second));
  EXPECT_EQ(base.inventories.at("tests").failing, Names{"at ##2"});
  EXPECT_TRUE(passes(facts_of(base, now({"adds", "-at 5", "at 6"}), true)));
  EXPECT_FALSE(passes(facts_of(base, now({"adds", "-at 5", "-at 6"}), true))) << "one more of them fails";
  EXPECT_FALSE(passes(facts_of(base, now({"-adds", "-at 5", "at 6"}), true)));
}

TEST(Moving, IsKeptAsTextAndReadBack) {
  const auto found =
      held_to_both(inventory_of({"adds", "at 1", "sometimes"}), inventory_of({"adds", "at 2"}));
  const auto read = on_base_of_text(text_of(found));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, found);
  EXPECT_EQ(text_of(inventory_of({"a"})).find("twice"), std::string::npos)
      << "what one run found is kept as ever";
  const auto signal = base_signal("g", found);
  EXPECT_EQ(signal.details.at("moving"), 2);
  EXPECT_EQ(signal.details.at("moving_names"), "at #, sometimes");
}

}  // namespace
}  // namespace pawl::gates
