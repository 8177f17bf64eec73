// When two attempts count as failed in the same way.
#include "gates/failure.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/json.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

StepFacts ended(std::int64_t exit_code, std::string output, Outcome outcome = Outcome::kExited) {
  return {.step_name = "unit", .outcome = outcome, .exit_code = exit_code, .output_tail = std::move(output)};
}

StepFacts with_report(const std::string& format, const std::string& text) {
  StepFacts out = ended(1, "");
  MemorySource bytes(text);
  out.declared.insert("tests");
  out.reports.push_back({.path = "r",
                         .format = format,
                         .family = "tests",
                         .report = read_report(format, bytes, testing::plain_redactor())});
  return out;
}

StepFacts with_tests(const std::string& tap) { return with_report("tap", tap); }

AttemptFacts attempt(StepFacts step, std::string model = "") {
  AttemptFacts out;
  out.signals = {{.kind = "agent", .gate_id = "agent", .passed = true}};
  out.steps = {{.step_name = "run", .is_agent = true, .outcome = Outcome::kExited, .exit_code = 0},
               std::move(step)};
  GateFacts gate{.gate_id = "g", .required = {"build", "tests"}, .steps = {out.steps.back()}};
  for (auto& signal : evaluate(gate)) out.signals.push_back(std::move(signal));
  out.open_gates = {"g"};
  out.model = std::move(model);
  out.same_failure_max = 3;
  return out;
}

std::string failure_of(StepFacts step, std::string model = "") {
  return failure_digest(attempt(std::move(step), std::move(model)));
}

TEST(Failure, FailingTestsByNameAreTheSame) {
  const auto two = failure_of(with_tests("1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 - c\n"));
  EXPECT_EQ(two, failure_of(with_tests("1..4\nok 1 - a\nnot ok 2 - c\nnot ok 3 - b\nok 4 - more\n")))
      << "neither their order nor what passes counts";
  EXPECT_NE(two, failure_of(with_tests("1..3\nok 1 - a\nok 2 - b\nnot ok 3 - c\n"))) << "one less";
  EXPECT_NE(two, failure_of(with_tests("1..3\nnot ok 1 - a\nnot ok 2 - b\nok 3 - c\n"))) << "others";
}

TEST(Failure, OfAStepWithoutTestsByCodeAndEnd) {
  const auto failure = failure_of(ended(2, "compiling\nmain.c:12: error: no x\n"));
  EXPECT_EQ(failure, failure_of(ended(2, "compiling\nmain.c:40: error: no x\n")));
  EXPECT_NE(failure, failure_of(ended(2, "compiling\nmain.c:12: error: no y\n")));
  EXPECT_NE(failure, failure_of(ended(1, "compiling\nmain.c:12: error: no x\n")));
  EXPECT_NE(failure, failure_of(ended(-1, "compiling\nmain.c:12: error: no x\n", Outcome::kTimedOut)));
}

// Runners such as Maven and many scripts print their failures first.
TEST(Failure, FailingLinesCountAlsoBeforeManyPassingOnes) {
  const auto with = [](const std::string& failing, int passing) {
    std::string out = failing;
    for (int i = 0; i < passing; ++i)
      out += "a long line of a test that passes, with the number " + std::to_string(i) + "\n";
    StepFacts step{.step_name = "unit", .outcome = Outcome::kExited, .exit_code = 1};
    take_output(out, step);
    AttemptFacts facts;
    facts.steps = {step};
    return failure_digest(facts);
  };
  for (const int passing : {20, 400}) {
    const auto failure = with("FAIL alpha\nFAIL beta\n", passing);
    EXPECT_NE(failure, with("FAIL beta\n", passing)) << passing;
    EXPECT_EQ(failure, with("FAIL beta\nFAIL alpha\n", passing)) << "tests that run at once";
    EXPECT_EQ(with("FAIL beta in 12 ms\n", passing), with("FAIL beta in 70 ms\n", passing));
    EXPECT_EQ(with("reads alpha\n", passing), with("reads beta\n", passing)) << "no failing line";
  }
}

using Broken =
    std::vector<std::pair<std::string, std::string>>;  // name and message of files that could not be loaded

std::string of_junit(const Broken& broken) {
  std::string out = "<testsuite>";
  for (const auto& [name, words] : broken)
    out += "<testcase classname='' name='" + name + "'><error message='collection failure'>" + words +
           "</error></testcase>";
  return out + "</testsuite>";
}

std::string of_gotest(const Broken& broken) {
  std::string out;
  for (const auto& [name, words] : broken)
    out += R"({"Action":"start","Package":")" + name + "\"}\n" + R"({"Action":"output","Package":")" + name +
           R"(","Output":")" + words + R"(\n"})" + "\n" + R"({"Action":"fail","Package":")" + name + "\"}\n";
  return out;
}

std::string of_jest(const Broken& broken) {
  std::string out;
  for (const auto& [name, words] : broken)
    out +=
        (out.empty() ? "" : ",") + (R"({"name":"/workspace/)" + name + R"(","status":"failed","message":")" +
                                    words + R"(","assertionResults":[]})");
  return R"({"testResults":[)" + out + "]}";
}

// The report goes to a file, and the step prints nothing. Only the report distinguishes the attempts.
TEST(Failure, WhatCouldNotBeLoadedIsComparedByNameAndWords) {
  const std::pair<std::string, std::string (*)(const Broken&)> formats[] = {
      {"junit", of_junit}, {"gotest", of_gotest}, {"jest", of_jest}};
  for (const auto& [format, written] : formats) {
    const auto failure = [&](const Broken& broken) {
      return failure_of(with_report(format, written(broken)));
    };
    const auto two = failure({{"a", "Error: no x in line 3"}, {"b", "Error: no y"}});
    EXPECT_EQ(two, failure({{"b", "Error: no y"}, {"a", "Error: no x in line 12"}}))
        << format << ": neither order nor lines";
    EXPECT_NE(two, failure({{"a", "Error: no x in line 3"}})) << format << ": one less";
    EXPECT_NE(two, failure({{"a", "Error: no x in line 3"}, {"c", "Error: no y"}})) << format << ": another";
    EXPECT_NE(two, failure({{"a", "Error: no x in line 3"}, {"b", "Error: no z"}}))
        << format << ": it got further";
  }
}

TEST(Failure, WhatFailedBesideTestsCounts) {
  const std::string hook = "not ok 2 - \"before all\" hook for \"c\"\n",
                    tests = "1..3\nnot ok 1 - a\nok 3 - b\n";
  const auto with_hook = failure_of(with_tests(tests + hook));
  EXPECT_EQ(with_hook, failure_of(with_tests(hook + tests)));
  EXPECT_NE(with_hook, failure_of(with_tests(tests + "ok 2 - c\n")));
  const auto held = [](const std::string& name) {
    auto out = with_tests("1..2\nok 1 - a\nnot ok 2 - \"before all\" hook for \"" + name + "\"\n");
    out.exit_code = 0;
    return failure_of(out);
  };
  EXPECT_NE(held("c"), held("d")) << "also where the step ended with 0";
}

// Stored digests of older versions are compared with new ones. Where only tests failed, the bytes must never
// change.
TEST(Failure, OfTestsAloneItIsWhatItWas) {
  const auto facts = attempt(with_tests("1..2\nok 1 - a\nnot ok 2 - b\n"));
  Json signals = Json::array();
  for (const char* kind : {"build", "tests"})
    signals.push_back({{"signal", std::string("g.") + kind}, {"details", Json::object()}});
  const Json step = {{"step", "unit"}, {"outcome", "exited"}, {"tests", Json::array({"b"})}};
  EXPECT_EQ(failure_digest(facts),
            blake3_hex(canonical({{"model", ""}, {"signals", signals}, {"steps", Json::array({step})}})));
}

TEST(Failure, AnotherModelsIsAnother) {
  EXPECT_NE(failure_of(ended(1, ""), "small"), failure_of(ended(1, ""), "large"));
}

TEST(Failure, WhatTheAgentSaidDoesNotCount) {
  auto first = attempt(ended(1, "no x")), second = first;
  first.steps.front().output_tail = "I looked";
  second.steps.front().output_tail = "I thought";
  EXPECT_EQ(failure_digest(first), failure_digest(second));
}

TEST(Failure, AnEndIsComparedWithoutWhatDiffersEachTime) {
  const auto same = [](std::string_view a, std::string_view b) {
    EXPECT_EQ(normalised_end(a), normalised_end(b)) << a << "\n" << b;
  };
  const auto other = [](std::string_view a, std::string_view b) {
    EXPECT_NE(normalised_end(a), normalised_end(b)) << a << "\n" << b;
  };
  same("FAIL in 1.25s", "FAIL in 0.3 s");
  same("FAIL in 12 ms", "FAIL in 3 s");
  same("2026-11-26T18:40:46.123Z down", "2026-11-27T01:02:03Z down");
  same("at 0x7ffe12ab", "at 0x55d0");
  same("commit deadbeef01 is bad", "commit 0123456789abcdef is bad");
  same("id 7b1e6c0a-1f2e-4d3c-8b4a-5a6978695a4b", "id 00000000-0000-4000-8000-000000000000");
  same("no /tmp/pytest-of-me/run1/a.txt", "no /tmp/pytest-of-you/run22/b.txt");
  same("rm ./tmp.Xa83kQ: no", "rm ./tmp.pQ9zzz: no");
  same("a\nb", "a\r\n\nb\r\n\n");
  same("a", "\na");
  same("", "\n\r\n");
  other("a\nb", "b");
  same("\x1b[31mred\x1b[0m  \t x\r\n\n", "red x");
  other("no /workspace/src/a.c", "no /workspace/src/b.c");
  other("src/a.c:1: error", "src/b.c:1: error");
  other("expected yes", "expected no");
  other("FAIL case1", "FAIL case2");
  other("FAIL test_1", "FAIL test_20");
  other("FAIL Sum/case12b", "FAIL Sum/case13b");
  other("utf8: bad", "utf16: bad");
  same("took 1m3s", "took 2m14s");
  same("took 1h2m3s", "took 7h20m30s");
  same("case1 took 3 s", "case1 took 4 s");
  other("a template is bad", "a tempest is bad");
}

TEST(Failure, AUuidEndsWithItsWord) {
  // Without a digit in them, these words are not another name that differs each time.
  const auto of = [](const std::string& start, const std::string& end) {
    return failure_of(ended(1, "no row " + start + "-bbbb-cccc-dddd-eeeeeeeeeeee" + end + " here\n"));
  };
  EXPECT_EQ(of("aaaaaaaa", ""), of("cccccccc", ""));
  EXPECT_EQ(of("aaaaaaaa", "."), of("cccccccc", "."));
  for (const auto* letters : {"z", "_of", "é"})
    EXPECT_NE(of("aaaaaaaa", letters), of("cccccccc", letters)) << letters;
}

TEST(Failure, APathOfElsewhereIsOneWhateverIsBeforeIt) {
  for (const char* before :
       {"", "no ", "'", "\"", "`", "(", "[", "<", "{", "=", ":", ",", ";", "|", "--root="})
    EXPECT_EQ(normalised_end(std::string(before) + "/tmp/mine/a.txt"),
              normalised_end(std::string(before) + "/var/yours/b.txt"))
        << before;
  for (const char* before : {"src", ".", "..", "-"})
    EXPECT_NE(normalised_end(std::string(before) + "/tmp/mine/a.txt"),
              normalised_end(std::string(before) + "/tmp/mine/b.txt"))
        << before;
}

TEST(Failure, OnlyTheEndIsCompared) {
  std::string noise, other;
  for (int i = 0; i < 100; ++i) noise += "ok\n", other += i % 2 == 0 ? "fine\n" : "good\n";
  std::string end;
  for (int i = 0; i < 10; ++i) end += "line " + std::string(static_cast<std::size_t>(i), 'x') + "\n";
  EXPECT_EQ(normalised_end(noise + end), normalised_end(other + end));
}

Verdict::Kind verdict_after(std::int64_t same, AttemptFacts facts) {
  facts.earlier_failures.assign(static_cast<std::size_t>(same), failure_digest(facts));
  return decide(facts).kind;
}

TEST(Failure, AsOftenAsThePlanSaysAPersonIsAsked) {
  const auto facts = attempt(ended(1, "no"));
  EXPECT_EQ(verdict_after(1, facts), Verdict::Kind::kFailedRetryable);
  EXPECT_EQ(verdict_after(2, facts), Verdict::Kind::kEscalate);
  auto off = facts;
  off.same_failure_max.reset();
  EXPECT_EQ(verdict_after(3, off), Verdict::Kind::kFailedRetryable);
  auto first = facts;
  first.same_failure_max = 1;
  EXPECT_EQ(verdict_after(0, first), Verdict::Kind::kEscalate);
  auto between = facts;
  between.earlier_failures = {failure_digest(facts), "another", failure_digest(facts)};
  EXPECT_EQ(decide(between).kind, Verdict::Kind::kFailedRetryable) << "in a row";
  auto unknown = facts;
  unknown.earlier_failures = {"", "", ""};
  EXPECT_EQ(decide(unknown).kind, Verdict::Kind::kFailedRetryable) << "an older version wrote none";
}

TEST(Failure, OfAnAgentWithoutWorkItIsFinal) {
  auto facts = attempt(ended(0, ""));
  facts.signals.front().passed = false;
  facts.steps.front().outcome = Outcome::kTimedOut;
  EXPECT_EQ(verdict_after(2, facts), Verdict::Kind::kFailedUnrecoverable);
}

}  // namespace
}  // namespace pawl::gates
