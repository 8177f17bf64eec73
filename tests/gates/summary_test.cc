// The text about a failed attempt for a person and the next agent, and evidence that proves nothing.
#include <gtest/gtest.h>

#include "gates/gates.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

StepFacts ended(std::string name, std::int64_t exit_code) {
  return {.step_name = std::move(name), .outcome = Outcome::kExited, .exit_code = exit_code};
}

void give(StepFacts& to, const std::string& format, const std::string& text) {
  MemorySource bytes(text);
  to.declared.insert(std::string(family_of(format)));
  to.reports.push_back({.path = "r",
                        .format = format,
                        .family = std::string(family_of(format)),
                        .report = read_report(format, bytes, testing::plain_redactor())});
}

Signal tests_of_report(const std::string& format, const std::string& text) {
  StepFacts unit = ended("unit", 0);
  give(unit, format, text);
  return evaluate({.gate_id = "g", .required = {"tests"}, .steps = {unit}}).at(0);
}

std::string said_of(StepFacts failed, Json details = Json::object()) {
  const AttemptFacts facts{
      .signals = {{.kind = "agent", .gate_id = "agent", .passed = true},
                  {.kind = "tests", .gate_id = "g", .details = std::move(details)}},
      .steps = {{.step_name = "run", .outcome = Outcome::kExited, .exit_code = 0}, std::move(failed)}};
  const auto verdict = decide(facts);
  EXPECT_LE(verdict.summary.size(), kSummaryBytesMax);
  return verdict.summary;
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

AttemptFacts with_agent(std::string output, std::int64_t exit_code) {
  StepFacts agent = ended("run", exit_code);
  agent.is_agent = true;
  agent.output_tail = std::move(output);
  StepFacts unit = ended("unit", 1);
  unit.output_tail = "1 test failed\n";
  return {.signals = {{.kind = "agent", .gate_id = "agent", .passed = exit_code == 0},
                      {.kind = "build", .gate_id = "g", .details = Json::object()}},
          .steps = {std::move(agent), std::move(unit)}};
}

TEST(Summary, TheLastLineOfAFailedAgentIsInTheReasonToo) {
  const auto verdict = decide(with_agent(
      "I work.\nerror: unknown option '--nosuch'\n\n  \npawl: usage: the output has no report\n", 1));
  EXPECT_EQ(verdict.reason, "agent.agent, g.build; the agent ended with: error: unknown option '--nosuch'");
  EXPECT_TRUE(says(verdict.summary, "  it ended with: error: unknown option '--nosuch'\n"))
      << verdict.summary;
  EXPECT_EQ(decide(with_agent("done\n", 0)).reason, "g.build");
  EXPECT_EQ(decide(with_agent("pawl: usage: x\n \n", 1)).reason, "agent.agent, g.build");
  const auto lots = decide(with_agent(std::string(5000, 'x') + "\n", 1)).reason;
  EXPECT_LT(lots.size(), 300U);
}

TEST(Summary, AnAgentThatEndsInJsonIsNamedByItsError) {
  const auto reason_of = [](const std::string& output) { return decide(with_agent(output, 1)).reason; };
  const std::string begins = "agent.agent, g.build; the agent ended with: ";
  EXPECT_EQ(reason_of("x\nError: it broke\n{\n  \"a\": 1\n}\n"), begins + "Error: it broke");
  EXPECT_EQ(reason_of("{\n  \"message\": \"no key\",\n  \"code\": 1\n}\n"),
            begins + "\"message\": \"no key\",");
  EXPECT_EQ(reason_of("error: x\n{\"done\":true}\n"), begins + "error: x");
  EXPECT_EQ(reason_of("I work\n{\"done\":true}\n"), begins + "{\"done\":true}");
  EXPECT_EQ(reason_of("error: x\nand more\n"), begins + "and more");
  auto known = with_agent("}\n", 0);
  known.steps[0].said_error = "Connection error.";
  EXPECT_EQ(decide(known).reason, "g.build; the agent ended with: Connection error.") << "some end with 0";
}

TEST(Summary, WithheldFilesAreNamedInTheReason) {
  auto facts = with_agent("k=secret\n", 0);
  facts.signals[0].passed = false;
  facts.steps[0].withheld = {"a", "b", "c", "d", "e", "f"};
  facts.steps[0].withheld_fail = true;
  EXPECT_EQ(decide(facts).reason,
            "agent.agent, g.build; not stored, for the value of a credential: a, b, c, d, e and 1 more");
}

TEST(Summary, AReasonSaysThatTheCommandLineIsRefused) {
  auto facts = with_agent("error: unknown option '--x'\n", 1);
  facts.stop = refused_command_line_reason("error: unknown option '--x'");
  EXPECT_TRUE(is_refused_command_line(decide(facts).reason)) << decide(facts).reason;
  EXPECT_FALSE(is_refused_command_line(decide(with_agent(facts.stop + "\n", 1)).reason)) << "its own words";
}

TEST(Summary, NewlyBrokenTestsComeBeforeThoseThatFailOnBase) {
  StepFacts unit = ended("unit", 1);
  give(unit, "tap", "not ok 1 old\nnot ok 2 broken\nok 3 fine\n1..3\n");
  const auto summary =
      decide({.signals = {{.kind = "tests", .gate_id = "g", .details = Json::object()}},
              .steps = {{.step_name = "run", .outcome = Outcome::kExited, .exit_code = 0}, std::move(unit)},
              .failing_on_base = {"old", "gone"}})
          .summary;
  EXPECT_TRUE(says(
      summary, "failing tests, 2 in all, 1 of them on base, too:\n  broken\n  old (fails on base, too)\n"))
      << summary;
}

TEST(Summary, FailingTestsHaveTheirMessagesInEveryFormat) {
  const std::pair<const char*, const char*> kReports[] = {
      {"junit", "<testsuite><testcase name='sum'><failure message='got 6, want 5'/></testcase></testsuite>"},
      {"tap", "TAP version 13\n# nums\nnot ok 1 sum\n  ---\n  actual: got 6, want 5\n  ...\n1..1\n"},
      {"gotest",
       "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"sum\"}\n{\"Action\":\"output\",\"Package\":\"p\","
       "\"Test\":"
       "\"sum\",\"Output\":\"a_test.go:9: got 6, want "
       "5\\n\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"sum\"}\n{\"Action\":\"fail\",\"Package\":"
       "\"p\"}"},
      {"jest",
       R"({"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"sum","status":"failed","failureMessages":["got 6, want 5"]}]}]})"},
      {"mocha",
       R"({"passes":[],"pending":[],"failures":[{"fullTitle":"sum","err":{"message":"got 6, want 5"}}]})"},
      {"cargo",
       "running 1 test\ntest sum ... FAILED\n\nfailures:\n\n---- sum stdout ----\ngot 6, want "
       "5\n\nfailures:\n    "
       "sum\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n"},
      {"ctest",
       "<Site><Testing><Test Status='failed'><Name>sum</Name><Results><Measurement><Value>got 6, want "
       "5</Value></Measurement></Results></Test></Testing></Site>"}};
  for (const auto& [format, text] : kReports) {
    StepFacts unit = ended("unit", 1);
    give(unit, format, text);
    const auto said = said_of(unit);
    EXPECT_TRUE(says(said, "failing tests, 1 in all:\n") && says(said, "sum\n") &&
                says(said, "got 6, want 5"))
        << said;
  }
}

TEST(Summary, TwentyTestsAndHowManyMore) {
  std::string suite = "<testsuite>";
  for (int i = 0; i < 50; ++i)
    suite += "<testcase name='t" + std::to_string(i) + "'><failure message='" + std::string(300, 'm') +
             "'/></testcase>";
  StepFacts many = ended("unit", 1);
  give(many, "junit", suite + "</testsuite>");
  const auto said = said_of(many);
  EXPECT_TRUE(says(said, "failing tests, 50 in all:") && says(said, "  t19\n") && !says(said, "  t20\n") &&
              says(said, "  and 30 more\n"))
      << said;
}

TEST(Summary, EachOfTwentyTestsHasAMessage) {
  std::string suite = "<testsuite>", output;
  for (int i = 0; i < 30; ++i) {
    const auto n = std::to_string(i);
    suite += "<testcase classname='tests.test_calc' name='test_add_" + n +
             "'><failure message='AssertionError: assert " + n +
             " == 99'>def test_add():\n&gt;       assert add() == 99\nE       AssertionError: assert " + n +
             " == 99\n\ntests/test_calc.py:5: AssertionError</failure></testcase>";
    output += "FAILED tests/test_calc.py::test_add_" + n + " - AssertionError: assert " + n + " == 99\n";
  }
  StepFacts many = ended("unit", 1);
  give(many, "junit", suite + "</testsuite>");
  take_output(output + output + "30 failed in 0.1s\n", many);
  const auto said = said_of(many);
  for (int i = 0; i < 20; ++i) {
    const auto n = std::to_string(i);
    const auto name = said.find("test_add_" + n + "\n");
    ASSERT_NE(name, std::string::npos) << said;
    EXPECT_NE(said.substr(name).find("assert " + n + " == 99"), std::string::npos) << n << said;
  }
  EXPECT_FALSE(says(said, "lines that tell of failures")) << said;
  EXPECT_TRUE(says(said, "30 failed in")) << said;
}

TEST(Summary, AMessageThatATracebackRepeatsStandsOnce) {
  StepFacts one = ended("unit", 1);
  give(one, "junit",
       "<testsuite><testcase name='a'><failure message='AssertionError: it is wrong'>def a():\n&gt; assert "
       "f()\nE   "
       "AssertionError: it is wrong\n\nx.py:5: AssertionError</failure></testcase></testsuite>");
  const auto said = said_of(one);
  const auto first = said.find("it is wrong");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(said.find("it is wrong", first + 1), std::string::npos) << said;
}

TEST(Summary, WhatFailedIsFoundAmongWhatPassed) {
  std::string log = "not ok 1 - sum: got 6, want 5\n";
  for (int i = 2; i < 2000; ++i) log += "ok " + std::to_string(i) + " - should be deeply equivalent\n";
  StepFacts unit = ended("unit", 1);
  take_output(log, unit);
  const auto said = said_of(unit);
  EXPECT_TRUE(says(said, "not ok 1 - sum: got 6, want 5\n") && says(said, "ok 1999")) << said;
  // Where no line reports a failure, the beginning is shown.
  std::string silent = "the first line\n";
  for (int i = 0; i < 2000; ++i) silent += "and another one " + std::to_string(i) + "\n";
  take_output(silent, unit);
  EXPECT_TRUE(says(said_of(unit), "the first line\n") && says(said_of(unit), "one 1999")) << said_of(unit);
  // A failure in the middle is found too, whatever words report it.
  for (const std::string line :
       {"[FAIL] sum: got 6, want 5", "sum: FAIL", "test sum failed", "sum \xe2\x9c\x97", "sum WRONG"}) {
    std::string middle;
    for (int i = 0; i < 4000; ++i)
      middle += i == 2000 ? line + "\n" : "test case " + std::to_string(i) + " passed\n";
    take_output(middle, unit);
    EXPECT_TRUE(says(said_of(unit), line) && says(said_of(unit), "case 3999")) << said_of(unit);
    unit.output_failures = "";
    take_output(middle.substr(middle.find(line) - 4000, 8000), unit);
    EXPECT_TRUE(says(said_of(unit), line)) << said_of(unit);
  }
  // An output that fits is shown once.
  take_output("error: no\n", unit);
  unit.output_failures = "";
  EXPECT_TRUE(says(said_of(unit), "output of unit:\nerror: no\n")) << said_of(unit);
}

TEST(Summary, AnEndThatIsCutOffBeginsWithAWholeCharacter) {
  for (const char* one : {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    for (std::size_t more = 0; more < 4; ++more) {
      std::string log;
      while (log.size() < (20U << 10)) log += one;
      StepFacts unit = ended("unit", 1);
      take_output(log + std::string(more, 'x'), unit);
      EXPECT_LT(unit.output_tail.size(), log.size());
      EXPECT_TRUE(valid_utf8(unit.output_tail) == unit.output_tail) << one << more;
    }
}

TEST(Summary, WhatACompilerWroteInPlaceOfAReportIsTold) {
  for (const auto* format : {"cargo", "tap", "gotest"}) {
    StepFacts unit = ended("unit", 101);
    const std::string text =
        "   Compiling x v0.1.0\nerror[E0432]: unresolved import `either`\n --> tests/added.rs:1:5\n";
    give(unit, format, text);
    const auto& read = unit.reports.front().report;
    ASSERT_TRUE(!read || !read->cut_short.empty()) << format;
    unit.reports.front().failure_lines = telling_text(text);
    EXPECT_TRUE(
        says(said_of(unit), "r says:\nerror[E0432]: unresolved import `either`\n --> tests/added.rs:1:5"))
        << said_of(unit);
  }
}

TEST(Summary, WhatItMeansComesBeforeItsNumbers) {
  const auto said =
      said_of(ended("unit", 0), {{"gone", 1}, {"problem", "1 tests that base has did not run: a"}});
  EXPECT_TRUE(says(said, "FAILED g.tests\n  1 tests that base has did not run: a\n  gone: 1\n")) << said;
}

TEST(Evidence, WhoWasAskedInVainIsToldWithHowOften) {
  std::string log;
  const auto line = [&](const std::string& host, const std::string& verdict) {
    log += "{\"host\":\"" + host + "\",\"port\":443,\"address\":\"192.0.2.7\",\"verdict\":\"" + verdict +
           "\"}\n";
  };
  for (int i = 0; i < 3; ++i) line("registry.example.org", "refused: not in the egress");
  line("", "refused: not in the egress");
  line("allowed.example.org", "allowed");
  log +=
      "{\"host\":\"\",\"port\":0,\"address\":\"\",\"verdict\":\"refused: further refusals are counted, not "
      "listed\"}\n";
  StepFacts fetch = ended("fetch", 1);
  fetch.egress_refused = 9;
  MemorySource bytes(log);
  ASSERT_TRUE(add_refused_hosts(bytes, fetch.refused_hosts));
  const auto told = evaluate({.gate_id = "g", .required = {"build"}, .steps = {fetch, fetch}}).at(0);
  EXPECT_EQ(told.details["egress_refused_hosts"],
            "registry.example.org:443 (6 times), 192.0.2.7:443 (2 times)");
}

TEST(Evidence, ANameThatWasRefusedCountsOnceALookUp) {
  std::string log;
  for (int i = 0; i < 4; ++i)  // two look-ups, each for two kinds of addresses
    log +=
        R"({"host":"registry.npmjs.org","port":0,"address":"","verdict":"refused: this name is not allowed"})"
        "\n";
  StepFacts fetch = ended("fetch", 1);
  fetch.egress_refused = 4;
  MemorySource bytes(log);
  ASSERT_TRUE(add_refused_hosts(bytes, fetch.refused_hosts));
  const auto told = evaluate({.gate_id = "g", .required = {"build"}, .steps = {fetch}}).at(0);
  EXPECT_EQ(told.details["egress_refused_hosts"], "registry.npmjs.org: name refused (2 times)");
  EXPECT_TRUE(says(said_of(ended("unit", 1), told.details), "`egress` of the step names it"));
}

TEST(Evidence, AReportWithoutATestThatRanProvesNothing) {
  for (const auto* xml : {"<testsuite/>", "<testsuites><testsuite tests='0'/></testsuites>",
                          "<testsuite><testcase name='a'><skipped/></testcase></testsuite>"}) {
    const auto signal = tests_of_report("junit", xml);
    EXPECT_TRUE(signal.missing) << xml;
    EXPECT_TRUE(signal.details.value("problem", "").starts_with("no test ")) << signal.details;
  }
  for (const auto& [format, text] :
       {std::pair{"tap", "1..0 # SKIP nothing\n"},
        {"jest", R"({"testResults":[]})"},
        {"mocha", R"({"passes":[],"pending":[],"failures":[]})"},
        {"cargo", "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored;\n"},
        {"gotest", R"({"Action":"skip","Package":"p"})"}}) {
    EXPECT_TRUE(tests_of_report(format, text).missing) << format;
  }
  // The report of one step proves nothing about another step.
  StepFacts first = ended("first", 0), second = ended("second", 0);
  give(first, "junit", "<testsuite><testcase name='a'/></testsuite>");
  second.declared.insert("tests");
  const auto signals = evaluate({.gate_id = "g", .required = {"tests"}, .steps = {first, second}});
  EXPECT_TRUE(signals.at(0).missing);
  EXPECT_EQ(signals.at(0).details["problem"], "second: no report was written");
}

}  // namespace
}  // namespace pawl::gates
