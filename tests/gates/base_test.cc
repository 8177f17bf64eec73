// The facts of base about a gate: known, a lower bound or unknown. A failed run never counts as "no tests".
#include "gates/base.h"

#include <gtest/gtest.h>

#include "gates/gates.h"
#include "gates/reading/missing_program.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using State = Inventory::State;
using enum Outcome;

StepFacts unit(const std::string& junit, std::int64_t exit_code = 0, Outcome outcome = kExited) {
  StepFacts out{.step_name = "unit", .outcome = outcome, .exit_code = exit_code, .declared = {"tests"}};
  if (junit.empty()) return out;
  MemorySource bytes(junit);
  out.reports.push_back({.path = "r.xml",
                         .format = "junit",
                         .family = "tests",
                         .report = read_report("junit", bytes, testing::plain_redactor())});
  return out;
}

// A step with a report of any format.
StepFacts unit_of(const std::string& format, const std::string& text, std::int64_t exit_code) {
  auto out = unit("", exit_code);
  MemorySource bytes(text);
  out.reports.push_back({.path = "r",
                         .format = format,
                         .family = "tests",
                         .report = read_report(format, bytes, testing::plain_redactor())});
  return out;
}

Inventory tests_of(const std::vector<StepFacts>& steps) {
  return on_base("g", {"tests"}, steps).inventories.at("tests");
}

constexpr const char* kGood = "<testsuite><testcase name='a'/><testcase name='b'/></testsuite>";
constexpr const char* kRed =
    "<testsuite><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>";

TEST(OnBase, ABaseThatRanIsKnownAlsoWhereItsTestsFail) {
  EXPECT_EQ(tests_of({unit(kGood)}), (Inventory{.names = {"a", "b"}}));
  EXPECT_EQ(tests_of({unit(kRed, 1)}), (Inventory{.names = {"a", "b"}, .failing = {"b"}}));
  EXPECT_EQ(tests_of({unit("<testsuite/>")}), Inventory()) << "it says that it has none";
  EXPECT_TRUE(on_base("g", {"tests"}, {unit(kGood)}).green);
  EXPECT_FALSE(on_base("g", {"tests"}, {unit(kRed, 1)}).green);
  EXPECT_TRUE(on_base("g", {"tests"}, {unit(kRed, 1)}).is_usable()) << "the phase is to mend it";
}

TEST(OnBase, ARunThatFailedIsUnknownWhateverItLeft) {
  const std::vector<StepFacts> failed = {unit("", 2),  // it does not compile
                                         unit("", -1, kTimedOut),
                                         unit(kGood, -1, kTimedOut),  // it hangs
                                         unit(kGood, -1, kOomKilled),
                                         unit(kGood, -1, kSignaled),  // no signal of its own is known
                                         unit(kGood, 137),            // it was killed from outside
                                         unit("<testsuite>", 1),
                                         unit("no XML", 1),
                                         unit("<testsuite/>", 2)};  // it ended before its first test
  for (const auto& step : failed) {
    const auto found = on_base("g", {"tests"}, {step});
    const auto& inventory = found.inventories.at("tests");
    EXPECT_EQ(inventory.state, State::kUnknown) << name(step.outcome) << " " << step.exit_code;
    EXPECT_TRUE(inventory.names.empty());
    EXPECT_FALSE(inventory.reason.empty());
    EXPECT_FALSE(found.is_usable());
    EXPECT_NE(found.stop.find("gate g"), std::string::npos);
    EXPECT_NE(found.stop.find("baseline: none"), std::string::npos);
    const GateFacts facts{
        .gate_id = "g", .required = {"tests"}, .steps = {unit(kGood)}, .base = found.inventories};
    const auto signal = evaluate(facts).at(0);
    EXPECT_TRUE(signal.missing) << "nothing passes by what is not known";
    EXPECT_NE(signal.details.at("problem").get<std::string>().find("baseline: none"), std::string::npos);
  }
}

TEST(OnBase, WhatMayBeMoreIsALowerBound) {
  auto stopped = unit(kRed, 1);
  stopped.reports.front().report->lower_bound = "the runner stopped early";
  const auto found = on_base("g", {"tests"}, {stopped});
  EXPECT_EQ(found.inventories.at("tests").state, State::kLowerBound);
  EXPECT_TRUE(found.is_usable());
  EXPECT_EQ(tests_of({unit(kGood, 2)}).state, State::kLowerBound) << "no test failed, and something did";
  GateFacts facts{.gate_id = "g", .required = {"tests"}, .steps = {unit(kGood)}, .base = found.inventories};
  EXPECT_TRUE(evaluate(facts).at(0).passed);
  EXPECT_EQ(evaluate(facts).at(0).details.at("base"), "lower bound: the runner stopped early");
  facts.steps = {unit("<testsuite><testcase name='a'/></testsuite>")};
  EXPECT_EQ(evaluate(facts).at(0).details.at("gone_names"), "b") << "what it has is held to";
}

TEST(OnBase, AFileThatCouldNotBeLoadedMustNotGo) {
  const auto junit = [](const std::string& cases) { return unit("<testsuite>" + cases + "</testsuite>"); };
  const std::string good = "<testcase classname='tests.test_a' name='a'/>",
                    unloaded =
                        "<testcase classname='' name='tests.test_b'><error message='collection "
                        "failure'/></testcase>";
  auto red = junit(good + unloaded);
  red.exit_code = 2;
  const auto base = on_base("g", {"tests"}, {red}).inventories;
  EXPECT_EQ(base.at("tests").unloaded, std::vector<std::string>{"tests.test_b"});
  const auto signal = [&](const std::string& cases) {
    return evaluate({.gate_id = "g", .required = {"tests"}, .steps = {junit(cases)}, .base = base}).at(0);
  };
  EXPECT_TRUE(signal(good + "<testcase classname='tests.test_b' name='b'/>").passed);
  EXPECT_TRUE(signal(good + "<testcase classname='tests.test_b.Group' name='b'/>").passed);
  for (const std::string others :
       {"", "<testcase classname='tests.test_bc' name='b'/>", "<testcase classname='other' name='test_b'/>",
        "<testcase classname='other' name='tests.test_b'/>",
        "<testcase classname='a.tests.test_b' name='b'/>",
        "<testcase classname='tests.test_b' name='b'><skipped/></testcase>"}) {
    const auto lost = signal(good + others);
    EXPECT_FALSE(lost.passed) << others;
    EXPECT_EQ(lost.details.at("unloaded_gone_names"), "tests.test_b");
    EXPECT_NE(lost.details.at("problem").get<std::string>().find("could not load tests.test_b"),
              std::string::npos);
  }
}

TEST(OnBase, AFileThatCouldNotBeLoadedMayNotBeRemovedWhateverElseRuns) {
  const auto verdict = [](const std::string& format, const std::string& red, const std::string& green,
                          const std::string& removed) {
    const auto base = on_base("g", {"tests"}, {unit_of(format, red, 1)}).inventories;
    Unloaded unloaded;
    unloaded.add(base.at("tests"));
    unloaded.see_removed(removed);
    return evaluate({.gate_id = "g",
                     .required = {"tests"},
                     .steps = {unit_of(format, green, 0)},
                     .base = base,
                     .removed = unloaded.removed()})
        .at(0)
        .passed;
  };
  const std::string node_red =
      "TAP version 13\nnot ok 1 - /workspace/lib/load.test.mjs\n  ---\n  error: Cannot find module "
      "'x'\n  ...\nok 2 - adds\n1..2\n";
  const std::string node_green = "TAP version 13\nok 1 - loads\nok 2 - adds\n1..2\n";
  EXPECT_TRUE(verdict("tap", node_red, node_green, "lib/other.mjs"));
  EXPECT_FALSE(verdict("tap", node_red, node_green, "lib/load.test.mjs"));
  const std::string jest_junit_red =
      "<testsuites><testsuite><testcase classname='Test suite failed to run' name='/workspace/a.test.js'>"
      "<failure/></testcase></testsuite></testsuites>";
  const std::string jest_junit_green =
      "<testsuites><testsuite><testcase classname='adds' name='adds'/></testsuite></testsuites>";
  EXPECT_TRUE(verdict("junit", jest_junit_red, jest_junit_green, "b.test.js"));
  EXPECT_FALSE(verdict("junit", jest_junit_red, jest_junit_green, "a.test.js"));
  const auto package = [](const std::string& events) {
    return R"({"Action":"start","Package":"example.org/m/a"})"
           "\n" +
           events;
  };
  const std::string fails = R"({"Action":"fail","Package":"example.org/m/a"})",
                    runs = R"({"Action":"run","Package":"example.org/m/a","Test":"TestA"}
{"Action":"pass","Package":"example.org/m/a","Test":"TestA"}
)",
                    passes = R"({"Action":"pass","Package":"example.org/m/a"})",
                    has_none = R"({"Action":"skip","Package":"example.org/m/a"})",
                    other = R"({"Action":"run","Package":"example.org/m/a/b","Test":"TestB"}
{"Action":"pass","Package":"example.org/m/a/b","Test":"TestB"}
{"Action":"pass","Package":"example.org/m/a/b"}
)";
  EXPECT_TRUE(verdict("gotest", package(fails), package(runs + passes), "a/old.go"));
  EXPECT_FALSE(verdict("gotest", package(fails), package(runs + passes), "a/x_test.go"));
  EXPECT_TRUE(verdict("gotest", package(fails), package(other + has_none), "a/old.go"));
  EXPECT_FALSE(verdict("gotest", package(fails), package(other + has_none), "a/x_test.go"));
  EXPECT_FALSE(verdict("gotest", package(fails), package(other + has_none), "x_test.go"));
  EXPECT_FALSE(verdict("gotest", package(fails), package(other + passes), "a/old.go")) << "it was emptied";
}

TEST(Unloaded, APathStandsForWhatItsToolsNameByIt) {
  Unloaded all;
  EXPECT_TRUE(all.empty());
  all.add(
      {.unloaded = {"com.x.FooTest$Inner", "example.org/m", "example.org/m/v/pkg", "test_c", "tests.test_b"},
       .files = {"web/a.test.js"}});
  const auto removed = [&](std::string_view path) {
    Unloaded unloaded = all;
    unloaded.see_removed(path);
    return std::vector<std::string>(unloaded.removed().begin(), unloaded.removed().end());
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(removed("tests/test_b.py"), Names{"tests.test_b"});
  EXPECT_EQ(removed("backend/tests/test_b.py"), Names{"tests.test_b"});
  EXPECT_EQ(removed("tests/test_c.py"), Names{"test_c"});
  EXPECT_EQ(removed("src/test/java/com/x/FooTest.java"), Names{"com.x.FooTest$Inner"});
  EXPECT_EQ(removed("web/a.test.js"), Names{"web/a.test.js"});
  EXPECT_EQ(removed("v/pkg/x_test.go"), Names{"example.org/m/v/pkg"});
  EXPECT_EQ(removed("x_test.go"), Names{"example.org/m"});
  for (const auto* path :
       {"test_b.py", "tests/test_bc.py", "tests/test_b/x.py", "a.test.js", "v/pkg/x.go", ""})
    EXPECT_EQ(removed(path), Names()) << path;
}

TEST(OnBase, AStepThatCantRunStopsTheRunWithTheRemedy) {
  const auto stop = [](StepFacts step) { return on_base("t", {"build"}, {std::move(step)}).stop; };
  StepFacts step{.step_name = "unit", .outcome = kExited, .exit_code = 127, .program = "no-such-tox"};
  EXPECT_NE(stop(step).find("gate t, step unit: `no-such-tox` is not in the sandbox"), std::string::npos);
  step.exit_code = 126;
  EXPECT_NE(stop(step).find("can't be executed"), std::string::npos);
  step.program_is_work = true;
  EXPECT_EQ(stop(step), "") << "the work may bring it";
  step = {.step_name = "unit", .outcome = kExited, .exit_code = 7, .egress_refused = 2};
  EXPECT_NE(stop(step).find("egress"), std::string::npos);
  step.exit_code = 0;
  EXPECT_EQ(stop(step), "") << "it does without";
  EXPECT_NE(stop(unit("")).find("wrote no report of tests"), std::string::npos);
  EXPECT_EQ(stop(unit("", 1)), "") << "it failed before it could write one, and nothing is compared";
  EXPECT_EQ(stop({.step_name = "unit", .outcome = kExited, .exit_code = 1}), "") << "red on base";
}

TEST(OnBase, WhatAnEarlierStepDidNotMakeIsNotMissed) {
  const StepFacts make{.step_name = "make", .outcome = kExited, .exit_code = 2};
  const StepFacts check{.step_name = "check", .outcome = kExited, .exit_code = 127, .program = "app"};
  EXPECT_EQ(on_base("g", {"build"}, {make, check}).stop, "");
  EXPECT_NE(on_base("g", {"build"}, {check, make}).stop, "");
}

TEST(OnBase, ASandboxThatCouldNotBeMadeSaysNothingOfBase) {
  const auto found = on_base("g", {"tests"}, {unit("", -1, kSetupFailed)});
  EXPECT_TRUE(found.no_sandbox);
  EXPECT_EQ(found.stop, "");
  EXPECT_FALSE(found.is_usable());
}

TEST(OnBase, IsKeptAsTextAndReadBack) {
  OnBase found = on_base("g", {"tests", "build"}, {unit(kRed, 1)});
  found.inventories["trace"] = {.state = State::kLowerBound, .reason = "cut", .names = {"runs /bin/sh"}};
  found.inventories["tests"].files = {"a.test.js"};
  found.absent = {{"lint", "ruff"}};
  const auto read = on_base_of_text(text_of(found));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, found);
  for (
      const char* text :
      {"", "[]", "{}", R"(["a"])", R"({"green":true})", R"({"green":1,"inventories":{}})",
       R"({"green":true,"inventories":{},"absent":{"lint":1}})",
       R"({"green":true,"inventories":{"tests":["a"]}})",
       R"({"green":true,"inventories":{"tests":{"state":"empty","reason":"","names":[],"failing":[]}}})",
       R"({"green":true,"inventories":{"tests":{"state":"known","reason":"","names":["b","a"],"failing":[]}}})",
       R"({"green":true,"inventories":{"tests":{"state":"known","reason":"","names":[],"failing":[],"files":1}}})"})
    EXPECT_EQ(on_base_of_text(text).error().kind, ErrorKind::kCorrupt) << text;
}

GateFacts against_base(const std::string& base, StepFacts now, bool known_failing) {
  return {.gate_id = "g",
          .required = {"tests"},
          .steps = {std::move(now)},
          .base = on_base("g", {"tests"}, {unit(base, 1)}).inventories,
          .known_failing = known_failing};
}

TEST(KnownFailing, TestsThatFailOnBaseMayFailOnAndNoOthers) {
  const auto passes = [](const std::string& junit, bool known_failing, std::int64_t exit_code = 1) {
    const auto facts = against_base(kRed, unit(junit, exit_code), known_failing);
    return gate_passed(facts, evaluate(facts));
  };
  EXPECT_FALSE(passes(kRed, false));
  EXPECT_TRUE(passes(kRed, true));
  EXPECT_TRUE(passes(kRed, true, 0)) << "a runner that exits with 0 all the same";
  EXPECT_TRUE(passes(kGood, true, 0));
  const std::string other =
      "<testsuite><testcase name='a'><failure/></testcase><testcase name='b'/></testsuite>";
  const std::string fresh =
      "<testsuite><testcase name='a'/><testcase name='b'><failure/></testcase><testcase "
      "name='c'><failure/></testcase></testsuite>";
  const std::string gone = "<testsuite><testcase name='b'><failure/></testcase></testsuite>";
  for (const auto& junit : {other, fresh, gone}) EXPECT_FALSE(passes(junit, true)) << junit;
  EXPECT_FALSE(passes(kGood, true)) << "it failed, and not by a test";
  EXPECT_FALSE(passes(kRed, true, 137)) << "it was killed";
  EXPECT_FALSE(passes("", true));
}

TEST(KnownFailing, ARunnerMayExitWithTheNumberOfWhatFails) {
  const auto failing = [](int count) {
    std::string out = "<testsuite><testcase name='a'/>";
    for (int i = 0; i < count; ++i)
      out += "<testcase name='b" + std::to_string(i) + "'><failure/></testcase>";
    return out + "</testsuite>";
  };
  const auto passes = [&](int failures, std::int64_t base_exit, std::int64_t exit_code) {
    const GateFacts facts{.gate_id = "g",
                          .required = {"tests"},
                          .steps = {unit(failing(failures), exit_code)},
                          .base = on_base("g", {"tests"}, {unit(failing(failures), base_exit)}).inventories,
                          .known_failing = true};
    return gate_passed(facts, evaluate(facts));
  };
  EXPECT_TRUE(passes(139, 139, 139));
  EXPECT_TRUE(passes(300, 255, 255)) << "Mocha counts up to 255";
  EXPECT_TRUE(passes(300, 254, 254)) << "Test::More up to 254";
  EXPECT_FALSE(passes(2, 2, 139)) << "it crashed";
  EXPECT_FALSE(passes(139, 139, 138));
  EXPECT_TRUE(passes(139, 134, 139)) << "base aborted behind the same failures";
  EXPECT_EQ(tests_of({unit(failing(139), 139)}).state, State::kKnown);
  EXPECT_EQ(tests_of({unit(failing(139), 137)}).state, State::kUnknown);
}

TEST(OnBase, ANameThatMovesFromRunToRunIsTold) {
  const auto problem = [](const std::string& before, const std::string& now) {
    const auto one = [](const std::string& name) {
      return unit("<testsuite><testcase name='" + name + "'/></testsuite>");
    };
    const auto base = on_base("g", {"tests"}, {one(before)}).inventories;
    const auto signal =
        evaluate({.gate_id = "g", .required = {"tests"}, .steps = {one(now)}, .base = base}).at(0);
    EXPECT_FALSE(signal.passed) << now;
    return signal.details.at("problem").get<std::string>();
  };
  for (const auto& [before, now] : {std::pair("at 1764230000", "at 1764230007"),
                                    {"on 2026-11-26", "on 2026-11-27"},
                                    {"id 0x7ffc12", "id 0x55aa00"}})
    EXPECT_NE(problem(before, now).find("give the test a name that stays"), std::string::npos) << now;
  EXPECT_EQ(problem("adds", "subtracts").find("a name that stays"), std::string::npos);
}

TEST(KnownFailing, WhatIsNoTestAndFailsOnBaseMayFailOnByItsName) {
  const auto unloaded = [](const std::string& name) {
    return "<testsuite><testcase classname='' name='" + name +
           "'><error message='collection failure'/></testcase><testcase classname='c' name='a'/></testsuite>";
  };
  const auto passes = [&](const std::string& junit, bool known_failing) {
    const auto facts = against_base(unloaded("test_x"), unit(junit, 1), known_failing);
    return gate_passed(facts, evaluate(facts));
  };
  EXPECT_TRUE(passes(unloaded("test_x"), true));
  EXPECT_FALSE(passes(unloaded("test_x"), false));
  EXPECT_FALSE(passes(unloaded("test_y"), true)) << "it could be loaded";
  EXPECT_FALSE(
      passes("<testsuite><testcase classname='' name='test_x'><error message='collection "
             "failure'/></testcase></testsuite>",
             true))
      << "a test of base is gone";
}

// The signal `tests` for the same report on base and of the work, with known_failing.
Signal known_twice(const std::string& format, const std::string& text, std::int64_t exit_code = 1) {
  const auto step = unit_of(format, text, exit_code);
  const GateFacts facts{.gate_id = "g",
                        .required = {"tests"},
                        .steps = {step},
                        .base = on_base("g", {"tests"}, {step}).inventories,
                        .known_failing = true};
  const auto signals = evaluate(facts);
  EXPECT_EQ(gate_passed(facts, signals), signals.at(0).passed) << text;
  return signals.at(0);
}

constexpr const char* kCargoRed =
    "     Running unittests src/lib.rs (target/debug/deps/a-0)\n\nrunning 2 tests\ntest a ... FAILED\n"
    "test b ... ok\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n";
constexpr const char* kCargoSays = "error: test failed, to rerun pass `--lib`\n";
constexpr const char* kCargoBehind =
    "     Running tests/b.rs (target/debug/deps/b-0)\n\nrunning 1 test\ntest c ... ok\n\n"
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n";

TEST(KnownFailing, ARunnerThatStopsAtAKnownFailureIsNoPass) {
  const std::string red = kCargoRed;
  const std::pair<const char*, std::string> kStopped[] = {
      {"cargo", red + kCargoSays},
      {"cargo", red},  // standard output alone
      {"gotest", R"({"Action":"run","Package":"m","Test":"TestA"}
{"Action":"output","Package":"m","Test":"TestA","Output":"panic: boom\n"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
)"},
      {"gotest", R"({"Action":"run","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
)"},
      {"ctest",
       "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test></TestList><Test Status='failed'><Name>a"
       "</Name></Test></Testing></Site>"},
      {"jest",
       R"({"wasInterrupted":true,"success":false,"testResults":[{"name":"a","status":"failed","assertionResults":[{"title":"t","status":"failed"}]}]})"},
      {"junit", "<testsuite tests='3' failures='1'><testcase name='a'><failure/></testcase></testsuite>"}};
  for (const auto& [format, text] : kStopped) {
    const auto signal = known_twice(format, text, std::string_view(format) == "cargo" ? 101 : 1);
    EXPECT_FALSE(signal.passed) << format << ": " << text;
    EXPECT_TRUE(signal.missing) << format;
    const auto problem = signal.details.at("problem").get<std::string>();
    EXPECT_NE(problem.find("stopped early"), std::string::npos) << problem;
    EXPECT_NE(problem.find("--no-fail-fast"), std::string::npos) << problem;
  }
}

TEST(KnownFailing, ARunnerThatWentOnBehindAKnownFailurePasses) {
  const std::string red = kCargoRed, says = kCargoSays, behind = kCargoBehind,
                    sum = "error: 1 target failed:\n    `--lib`\n";
  const std::pair<const char*, std::string> kAll[] = {
      {"cargo", red + says + behind + sum},  // --no-fail-fast
      {"cargo", behind + red + says + sum},
      {"cargo", red + behind},
      {"gotest", R"({"Action":"run","Package":"m","Test":"TestA"}
{"Action":"output","Package":"m","Test":"TestA","Output":"caught panic: boom\n"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"output","Package":"m","Output":"FAIL\n"}
{"Action":"fail","Package":"m"}
)"},
      {"junit",
       "<testsuite tests='3' failures='1'><testcase name='d \"before all\" hook for x'><failure/></testcase>"
       "<testcase name='a'/></testsuite>"},
      {"junit",
       "<testsuite><testcase classname='' name='test_x'><error message='collection failure'/></testcase>"
       "<testcase classname='c' name='a'/></testsuite>"}};
  for (const auto& [format, text] : kAll) {
    const auto signal = known_twice(format, text, std::string_view(format) == "cargo" ? 101 : 1);
    EXPECT_TRUE(signal.passed) << format << ": " << text << signal.details.dump();
  }
}

TEST(KnownFailing, WhatFailsOnBaseTooIsNamed) {
  const auto facts = against_base(kRed,
                                  unit("<testsuite><testcase name='a'><failure/></testcase><testcase "
                                       "name='b'><failure/></testcase></testsuite>",
                                       1),
                                  false);
  const auto signals = evaluate(facts);
  EXPECT_EQ(signals.at(0).details.at("failing_on_base_names"), "b");
  EXPECT_EQ(signals.at(0).details.at("newly_failing_names"), "a");
  const auto verdict = decide({.signals = signals, .steps = facts.steps, .open_gates = {"g"}});
  EXPECT_NE(verdict.reason.find("on base fail, too: b"), std::string::npos);
  EXPECT_NE(verdict.summary.find("failing_on_base_names: b"), std::string::npos);
}

TEST(Decide, AGateThatCanJudgeNothingIsForAPerson) {
  const auto found = on_base("t", {"build"}, {{.step_name = "unit", .outcome = kExited, .exit_code = 127}});
  const auto verdict =
      decide({.signals = {base_signal("t", found)}, .stop = found.stop, .open_gates = {"t"}});
  EXPECT_EQ(verdict.kind, Verdict::Kind::kEscalate);
  EXPECT_EQ(verdict.failing_signals, std::vector<std::string>{"t@base.base"});
  EXPECT_NE(verdict.reason.find("(127)"), std::string::npos);
}

TEST(Decide, TheTimeOfAnAgentIsNotThatOfAGate) {
  AttemptFacts facts{.attempts_used = 1, .max_attempts = 2};
  facts.steps = {{.step_name = "run", .is_agent = true, .outcome = kTimedOut}};
  facts.signals = {{.kind = "agent", .gate_id = "agent"}};
  EXPECT_EQ(decide(facts).kind, Verdict::Kind::kFailedRetryable);
}

TEST(Decide, WhatBaseSaysIsNoJudgementOfTheWork) {
  EXPECT_NE(decide({.signals = {base_signal("t", {.green = true})}}).kind, Verdict::Kind::kPassed);
}

struct Said {
  const char* output;
  const char* name;
  bool is_path;
};

TEST(MissingProgram, IsRunFirstWhereNothingBeforeItCouldMakeIt) {
  const MissingProgram jest{.name = "node_modules/.bin/jest", .is_path = true};
  const auto first = [&](const std::string& script) {
    return is_run_first(jest, {"sh", "-e", "-c", script});
  };
  for (const std::string before :
       {"", "CI=1 ", "set -x; ", "cd web && ", "cd web\n", "export CI=1\nA=b\n", "timeout 5 ./", "exec ",
        "shopt -s inherit_errexit 2>/dev/null || :; ", "echo tests | true; "})
    EXPECT_TRUE(first(before + jest.name + " --ci || exit 3")) << before;
  for (const std::string before :
       {"npm ci && ", "cd web; npm ci\n", "[ -x node_modules/.bin/jest ] || npm ci; ", "A=$(npm ci) ",
        "make -s &\n", "(npm ci); "})
    EXPECT_FALSE(first(before + jest.name)) << before;
  EXPECT_TRUE(is_run_first(jest, {"timeout", "5", jest.name}));
  EXPECT_FALSE(is_run_first(jest, {"make", "test"})) << "nobody says what make ran";
  EXPECT_FALSE(is_run_first({}, {"sh", "-c", "x"}));
}

TEST(MissingProgram, IsReadFromWhatWhoCouldNotStartItSays) {
  const Said all[] = {{"sh: 1: no-such-tox: not found\n", "no-such-tox", false},
                      {"bash: line 1: tox: command not found\n", "tox", false},
                      {"./check.sh: line 3: tox: command not found\nmake: gone\n", "tox", false},
                      {"> test\n> jest\n\nsh: 1: jest: not found\n", "jest", false},
                      {"sh: 1: ./check.sh: not found\n", "./check.sh", true},
                      {"bash: line 1: ./check.sh: No such file or directory\n", "./check.sh", true},
                      {"bash: check.sh: No such file or directory\n", "check.sh", true},
                      {"bash: ./x: cannot execute: required file not found\n", "./x", true},
                      {"bash: ./x: /no/such: bad interpreter: No such file or directory\n", "/no/such", true},
                      {"sh: 1: ./x: Permission denied\n", "./x", true},
                      {"env: \xE2\x80\x98tox\xE2\x80\x99: No such file or directory\n", "tox", false},
                      {"env: 'tox': No such file or directory\n", "tox", false},
                      {"timeout: failed to run command 'tox': No such file or directory\r\n", "tox", false},
                      {"pawl: can't run tox: No such file or directory\n", "tox", false},
                      {"nothing of use\n", "", false},
                      {"", "", false}};
  for (const auto& said : all) {
    const auto found = missing_program({"sh", "-c", "x"}, said.output);
    EXPECT_EQ(found.name, said.name) << said.output;
    EXPECT_EQ(found.is_path, said.is_path) << said.output;
  }
  EXPECT_EQ(missing_program({"./check", "-v"}, "").name, "./check");
  EXPECT_TRUE(missing_program({"./check", "-v"}, "").is_path);
}

}  // namespace
}  // namespace pawl::gates
