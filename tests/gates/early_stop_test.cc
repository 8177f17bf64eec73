// Runners that end at a failure: the signs of it, the inventory of base, and the tests that still count.
#include "gates/reading/early_stop.h"

#include <gtest/gtest.h>

#include "gates/gates.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using State = Inventory::State;

struct RunnerSaid {
  std::string format, report, run, output;
};

StepFacts step_of(const RunnerSaid& said, std::int64_t exit_code) {
  StepFacts out{.step_name = "unit", .outcome = "exited", .exit_code = exit_code, .declared = {"tests"}};
  take_output(said.output, out);
  out.stop_option = stop_option_in({"sh", "-e", "-c", said.run});
  MemorySource bytes(said.report);
  out.reports.push_back({.path = "r",
                         .format = said.format,
                         .family = "tests",
                         .report = read_report(said.format, bytes, testing::plain_redactor())});
  return out;
}

Inventory base_of(const RunnerSaid& said) {
  return on_base("g", {"tests"}, {step_of(said, 1)}).inventories.at("tests");
}

constexpr const char* kPytest =
    "<testsuites><testsuite name='pytest' errors='0' failures='1' tests='1'><testcase classname='t' name='a'>"
    "<failure message='no'/></testcase></testsuite></testsuites>";
constexpr const char* kPytestSays =
    "collected 3 items\n\nt.py F\n!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!\n";
constexpr const char* kGo = R"({"Action":"run","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
)";
constexpr const char* kMocha = R"({"passes":[],"pending":[],"failures":[{"fullTitle":"a"}]})";
constexpr const char* kVitest =
    R"({"success":false,"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"a","status":"failed"},{"title":"b","status":"pending"}]}]})";

TEST(EarlyStop, AnOptionOfTheCommandIsFoundWithTheFailuresThatItBears) {
  const auto option = [](const std::string& run) {
    const auto found = stop_option_in({"bash", "-e", "-c", run});
    return found.word + (found.word.empty() ? "" : " " + std::to_string(found.failures));
  };
  EXPECT_EQ(option("python3 -m pytest -x --junitxml=out.xml"), "-x 1");
  EXPECT_EQ(option("pytest --maxfail=3 -q"), "--maxfail 3");
  EXPECT_EQ(option("pytest --maxfail 2"), "--maxfail 2");
  EXPECT_EQ(option("cd a && go test -json -failfast ./... >out.json"), "-failfast 1");
  EXPECT_EQ(option("npx vitest run --bail=2"), "--bail 2");
  EXPECT_EQ(option("node_modules/.bin/mocha -b"), "-b 1");
  EXPECT_EQ(option("npx jest --bail"), "--bail 1");
  EXPECT_EQ(option("python3 -m unittest --failfast"), "--failfast 1");
  for (const auto* run :
       {"sh -x test.sh", "set -x; go test ./...", "cargo test --no-fail-fast", "pytest --maxfail=0",
        "mocha --bail=false", "pytest --exitfirst-not", "npm ci --bailiwick", "curl -b jar x"})
    EXPECT_EQ(option(run), "") << run;
}

TEST(EarlyStop, WhatARunnerPrintsOfItsEndIsRead) {
  EXPECT_EQ(said_stop_in(kPytestSays).words, "stopping after 1 failures");
  EXPECT_EQ(said_stop_in(kPytestSays).collected, 3);
  EXPECT_EQ(said_stop_in("!!! xdist.dsession.Interrupted: stopping after 2 failures !!!!\n").words,
            "stopping after 2 failures");
  EXPECT_EQ(said_stop_in("collected 9 items / 4 deselected / 5 selected\n").collected, 5);
  EXPECT_EQ(said_stop_in("collected 9 items\ncollected 2 items\n").collected, 0) << "of which of them?";
  EXPECT_NE(said_stop_in("[INFO] core ............ FAILURE\n[INFO] web ............. SKIPPED\n").words, "");
  for (const auto* output : {"", "E  stopping after 1 failures",
                             "!!! Interrupted: 1 error during collection !!!", "[INFO] Tests are SKIPPED"})
    EXPECT_EQ(said_stop_in(output).words, "") << output;
}

TEST(EarlyStop, TheInventoryOfABaseThatStoppedIsALowerBoundThatSaysSo) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", kPytestSays},
      {"junit", kPytest, "pytest -x --junitxml=r", ""},
      {"gotest", kGo, "go test -json -failfast ./... >r", ""},
      {"mocha", kMocha, "mocha --bail --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=1", ""},
      {"tap", "TAP version 13\n1..3\nnot ok 1 a\nBail out!\n", "prove", ""},
      {"ctest",
       "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test></TestList><Test Status='failed'>"
       "<Name>a</Name></Test></Testing></Site>",
       "ctest --stop-on-failure -T Test", ""},
      {"cargo", "running 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;",
       "cargo test", ""}};
  for (const auto& said : all) {
    const auto base = base_of(said);
    EXPECT_EQ(base.state, State::kLowerBound) << said.format << ": " << said.run;
    EXPECT_NE(base.reason, "") << said.format;
    const auto work =
        evaluate({.gate_id = "g",
                  .required = {"tests"},
                  .steps = {step_of({"junit", "<testsuite><testcase name='x'/></testsuite>"}, 0)},
                  .base = {{"tests", base}}});
    EXPECT_TRUE(text_in(work.at(0).details, "base").starts_with("lower bound: ")) << said.format;
  }
}

TEST(EarlyStop, ARunnerThatDidNotStopIsNoLowerBound) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", "collected 1 item\n\nt.py F\n"},
      {"junit", kPytest, "pytest --maxfail=2 --junitxml=r", "collected 1 item\n\nt.py F\n"},
      {"gotest", kGo, "go test -json ./... >r", ""},
      {"mocha", kMocha, "mocha --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=2", ""}};
  for (const auto& said : all) EXPECT_EQ(base_of(said).state, State::kKnown) << said.run;
}

Signal against(const Inventory& base, const RunnerSaid& said, std::int64_t exit_code = 0,
               bool known_failing = false) {
  return evaluate({.gate_id = "g",
                   .required = {"tests"},
                   .steps = {step_of(said, exit_code)},
                   .base = {{"tests", base}},
                   .known_failing = known_failing})
      .at(0);
}

std::string pytest_of(int tests) {
  std::string out = "<testsuite name='pytest'>";
  for (int i = 0; i < tests; ++i)
    out += "<testcase classname='t' name='" + std::string(1, static_cast<char>('a' + i)) + "'/>";
  return out + "</testsuite>";
}

TEST(EarlyStop, ATestBehindTheStopIsMissedWhereTheReportCountsThem) {
  const auto base = base_of({"junit", kPytest, "pytest -x", kPytestSays});
  EXPECT_EQ(base.count, 3);
  EXPECT_TRUE(against(base, {"junit", pytest_of(3)}).passed);
  EXPECT_TRUE(against(base, {"junit", pytest_of(4)}).passed) << "a new one";
  const auto lost = against(base, {"junit", pytest_of(2)});
  EXPECT_FALSE(lost.passed);
  EXPECT_FALSE(lost.missing);
  EXPECT_EQ(lost.details.at("fewer"), 1);
  EXPECT_NE(text_in(lost.details, "problem").find("counts 3 tests"), std::string::npos);
  const std::pair<const char*, std::string> kCounted[] = {
      {"tap", "TAP version 13\n1..3\nnot ok 1 a\nBail out!\n"},
      {"tap", "1..3\nnot ok 1 a\n"},
      {"ctest",
       "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test><Test>./c</Test></TestList><Test "
       "Status='failed'>"
       "<Name>a</Name></Test></Testing></Site>"},
      {"junit", "<testsuite tests='3' failures='1'><testcase name='a'><failure/></testcase></testsuite>"},
      {"cargo", "running 3 tests\ntest a ... FAILED\nerror: test failed, to rerun pass `--lib`\n"}};
  for (const auto& [format, report] : kCounted)
    EXPECT_EQ(base_of({format, report}).count, 3) << format << ": " << report;
  const auto unknown = base_of({"gotest", kGo, "go test -json -failfast"});
  EXPECT_EQ(unknown.count, 0) << "nobody says how many there are";
}

TEST(EarlyStop, AnAttemptThatStopsIsToldAndNothingBehindIsCalledGone) {
  const Inventory base{.names = {"t::a", "t::b"}};
  const auto signal = against(base, {"junit", kPytest, "pytest -x", kPytestSays}, 1);
  EXPECT_FALSE(signal.passed);
  EXPECT_FALSE(signal.details.contains("gone"));
  EXPECT_NE(text_in(signal.details, "problem").find("did not run: unit says: stopping after 1 failures"),
            std::string::npos);
}

TEST(EarlyStop, AKnownFailureThatEndsTheRunnerIsNoPass) {
  const RunnerSaid all[] = {
      {"junit", kPytest, "pytest --junitxml=r", "!!!! stopping after 1 failures !!!!\n"},
      {"gotest", kGo, "go test -json -failfast ./... >r", ""},
      {"mocha", kMocha, "mocha --bail --reporter json", ""},
      {"jest", kVitest, "vitest run --bail=1", ""}};
  for (const auto& said : all) {
    const auto signal = against(base_of(said), said, 1, true);
    EXPECT_TRUE(signal.missing) << said.run;
    EXPECT_NE(text_in(signal.details, "problem").find("the runner stopped early"), std::string::npos);
    const auto on = against(base_of(said), {said.format, said.report, "pytest", ""}, 1, true);
    EXPECT_TRUE(on.passed) << said.run << ": it went on now";
  }
}

TEST(EarlyStop, ARunnerThatLeftNoReportBecauseItStoppedIsNamed) {
  auto jest = step_of({"jest", "", "jest --bail --json --outputFile=r", ""}, 1);
  jest.reports.clear();
  const auto found = on_base("g", {"tests"}, {jest});
  EXPECT_NE(found.stop.find("`--bail` may end its runner before it writes one"), std::string::npos)
      << found.stop;
}

}  // namespace
}  // namespace pawl::gates
