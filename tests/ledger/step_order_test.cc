// The rows of an attempt's steps, compared with each other. Each is intact by itself.
#include "ledger/step_order.h"

#include <gtest/gtest.h>

#include <list>
#include <string>

namespace pawl::ledger {
namespace {

class StepOrderTest : public ::testing::Test {
 protected:
  static std::string label(const std::string& step, int attempt, const std::string& end) {
    return "p." + step + ".attempt" + std::to_string(attempt) + end;
  }
  std::string begun(const std::string& step, Json more = Json::object(), int attempt = 1,
                    const std::string& end = "") {
    more["execution"] = more.value("execution", 1);
    more["sandbox_spec_hash"] = more.value("sandbox_spec_hash", "h");
    more["sandbox_run_id"] = "s" + std::to_string(++begun_);
    return add("pre_execute", label(step, attempt, end), attempt, std::move(more));
  }
  std::string ended(const std::string& step, const std::string& layer = "", int attempt = 1,
                    const std::string& end = "") {
    return add("executed", label(step, attempt, end), attempt,
               {{"layer", layer}, {"sandbox_run_id", "s" + std::to_string(begun_)}});
  }
  // A step that runs once and ends.
  std::string ran(const std::string& step, const std::string& layer = "", int attempt = 1,
                  const std::string& end = "") {
    const auto first = begun(step, Json::object(), attempt, end);
    return first.empty() ? ended(step, layer, attempt, end) : first;
  }
  std::string work(const std::string& layer, const Json& episodes = Json::array(), int attempt = 1) {
    return order_.check_work(
        {{"attempt_id", "p." + std::to_string(attempt)}, {"layer", layer}, {"episodes", episodes}});
  }
  void again() { order_ = StepOrder("p"); }

 private:
  std::string add(const char* type, const std::string& label, int attempt, Json more) {
    more["type"] = type;
    more["label"] = label;
    more["at"] = "2026-01-02T03:04:05.678901Z";
    more["attempt_id"] = "p." + std::to_string(attempt);
    std::string line = canonical(more);
    line.pop_back();  // as a row without its hash
    return order_.add(lines_.emplace_back(std::move(line)));
  }
  std::list<std::string> lines_;
  StepOrder order_{"p"};
  int begun_ = 0;
};

constexpr auto kAgent = "agent.run";

TEST_F(StepOrderTest, WhatAnAttemptDoesFits) {
  EXPECT_EQ(ran("check.unit@base"), "");
  EXPECT_EQ(begun(kAgent), "");
  EXPECT_EQ(begun(kAgent, {{"execution", 2}}), "") << "the first one was lost, and its rows say so";
  EXPECT_EQ(ended(kAgent, "L"), "");
  EXPECT_EQ(ran("check.unit"), "");
  EXPECT_EQ(ran("check.unit@rerun1"), "");
  EXPECT_EQ(ran("check.unit@base2"), "");
  EXPECT_EQ(ran("check.unit", "", 1, ".together1"), "");
  EXPECT_EQ(ran("check.unit", "", 1, ".together2"), "");
  EXPECT_EQ(ran("doctor.doctor"), "");
  EXPECT_EQ(work("what was left of L"), "");
  EXPECT_EQ(begun(kAgent, {{"layer", "L"}}, 2), "") << "on_retry: continue";
  EXPECT_EQ(ended(kAgent, "M", 2), "");
  EXPECT_EQ(begun(kAgent, Json::object(), 3), "");
}

TEST_F(StepOrderTest, TheEpisodesOfAnAttemptAreApart) {
  for (const std::string end : {".episode1", ".episode2"}) {
    EXPECT_EQ(ran(kAgent, end == ".episode1" ? "L" : "", 1, end), "");
    EXPECT_EQ(ran("check.unit", "", 1, end), "")
        << "the gates of the first judge before the second agent works";
  }
  const auto chosen = [](int number) { return Json::array({{{"episode", number}, {"kept_by", "gates"}}}); };
  EXPECT_EQ(work("L", chosen(1)), "");
  EXPECT_NE(work("L", chosen(2)), "") << "the agent of the second left nothing";
  EXPECT_EQ(work("", chosen(2)), "");
}

TEST_F(StepOrderTest, AStepThatHasAResultDoesNotRunAgain) {
  for (const std::string step : {kAgent, "check.unit", "check.unit@base", "check.unit@rerun1"})
    for (const int execution : {1, 2, 3}) {
      again();
      EXPECT_EQ(ran(step), "");
      EXPECT_NE(begun(step, {{"execution", execution}}), "") << step << execution;
    }
}

// The plan may have gate `a` with step `b.c`, and gate `a.b` with step `c`.
TEST_F(StepOrderTest, TwoGatesMayHaveOneLabelAndAnAgentHasItsOwn) {
  // Gate `a` with step `b.c`, and gate `a.b` with step `c`, with the same command.
  for (const std::string label : {"a.b.c", "a.b.c@base"})
    for (int gate = 0; gate < 2; ++gate) {
      EXPECT_EQ(begun(label), "") << label;
      EXPECT_EQ(ended(label), "") << label;
    }
  again();
  EXPECT_EQ(ran(kAgent), "");
  EXPECT_NE(begun(kAgent, {{"sandbox_spec_hash", "i"}, {"execution", 2}}), "") << "whatever it was shown";
}

TEST_F(StepOrderTest, AnExecutionOfAStepIsThereOnce) {
  for (const std::string step : {kAgent, "check.unit"})
    for (const int execution : {1, 2}) {
      again();
      EXPECT_EQ(begun(step), "");
      EXPECT_EQ(begun(step, {{"execution", 2}}), "");
      EXPECT_NE(begun(step, {{"execution", execution}}), "") << step << execution;
    }
}

TEST_F(StepOrderTest, NoGateJudgesBeforeTheAgentHasEnded) {
  for (const std::string gate : {"check.unit", "check.unit@rerun1", "agent.x.unit", "a@base.unit"}) {
    again();
    EXPECT_EQ(begun(kAgent), "");
    EXPECT_EQ(ran(gate), "");
    EXPECT_NE(ended(kAgent), "") << gate;
  }
}

TEST_F(StepOrderTest, AnAgentGoesOnFromWhatTheAgentBeforeLeft) {
  const auto refuses = [&](const std::string& layer) {
    EXPECT_NE(begun(kAgent, {{"layer", layer}}, 2), "") << layer;
  };
  refuses("L");  // no attempt before
  again();
  EXPECT_EQ(ran(kAgent, "L"), "");
  refuses("M");
  again();
  EXPECT_EQ(ran(kAgent, "K", 1), "");
  EXPECT_EQ(ran(kAgent, "L", 2), "");
  EXPECT_NE(begun(kAgent, {{"layer", "K"}}, 3), "") << "an older attempt's";
  again();
  EXPECT_EQ(ran("check.unit", "L"), "");
  refuses("L");  // what a gate left
}

TEST_F(StepOrderTest, WorkIsOfAnAgent) {
  EXPECT_NE(work("L"), "");
  EXPECT_EQ(ran("check.unit", "L"), "");
  EXPECT_NE(work("L"), "");
  EXPECT_EQ(ran(kAgent, "L", 2), "");
  EXPECT_NE(work("L"), "") << "of another attempt";
  EXPECT_EQ(work(""), "");
}

}  // namespace
}  // namespace pawl::ledger
