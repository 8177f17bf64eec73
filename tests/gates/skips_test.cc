// A test that base runs and that the work removes or skips is missed, in the words of each runner.
#include <gtest/gtest.h>

#include "gates/gates.h"
#include "gates/told_by.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

StepFacts step_of(const std::string& format, const std::string& text) {
  StepFacts out{.step_name = "unit", .outcome = Outcome::kExited, .exit_code = 0, .declared = {"tests"}};
  MemorySource bytes(text);
  out.reports.push_back({.path = "r",
                         .format = format,
                         .family = "tests",
                         .report = read_report(format, bytes, testing::plain_redactor())});
  return out;
}

std::string missed(const std::string& format, const std::string& before, const std::string& after) {
  const auto base = on_base("g", {"tests"}, {step_of(format, before)}).inventories;
  const auto signal =
      evaluate({.gate_id = "g", .required = {"tests"}, .steps = {step_of(format, after)}, .base = base})
          .at(0);
  EXPECT_FALSE(signal.passed) << after;
  const auto gone = text_in(signal.details, "gone_names"),
             skipped = text_in(signal.details, "newly_skipped_names");
  return gone.empty() ? "~" + skipped : gone;
}

TEST(Skips, OfJUnitInTheWordsOfSurefireGradleAndPytest) {
  const auto with = [](const std::string& test) {
    return "<testsuite><testcase classname='com.x.CalcTest' name='adds'/>" + test + "</testsuite>";
  };
  const std::string before = with("<testcase classname='com.x.CalcTest' name='kept'/>"),
                    kept = "com.x.CalcTest::kept";
  for (const std::string skipped :
       {"<testcase classname='com.x.CalcTest' name='kept' time='0'><skipped message='later'/></testcase>",
        "<testcase classname='com.x.CalcTest' name='kept'><skipped type='pytest.skip' "
        "message='later'>a.py:3: "
        "later</skipped></testcase>",
        "<testcase classname='com.x.CalcTest' name='kept'><skipped type='pytest.xfail' "
        "message=''/></testcase>",
        "<testcase classname='com.x.CalcTest' name='kept'><skipped type='todo' message='true'/></testcase>",
        "<testcase classname='com.x.CalcTest' name='kept' status='disabled'/>"})
    EXPECT_EQ(missed("junit", before, with(skipped)), "~" + kept) << skipped;
  for (const std::string gone :
       {"", "<testcase classname='com.x.CalcTest' name=''><skipped message='@Disabled'/></testcase>",
        "<testcase classname='' name='tests.test_a'><skipped type='pytest.skip' message='collection "
        "skipped'/></testcase>"})
    EXPECT_EQ(missed("junit", before, with(gone)), kept) << gone;
}

// Node 20 writes a failing todo test as skipped and as failed, counts it as both, and ends with 0.
TEST(Skips, OfNodeAFailingTodoIsSkippedAsInTap) {
  const auto told = [](const std::string& inside) {
    return told_by("junit",
                   "<testsuites><testcase name='a' classname='test'/><testsuite name='s' disabled='0' "
                   "errors='0' tests='1' failures='1' skipped='1' hostname='h'><testcase name='b' "
                   "classname='test' failure='x'>" +
                       inside + "</testcase></testsuite></testsuites>");
  };
  const std::string todo = "<skipped type='todo' message='true'/>", skipped = "<skipped type='skipped'/>",
                    failure = "<failure type='testCodeFailure' message='x'>x at t.js:3</failure>";
  EXPECT_EQ(told(todo + failure), "+test::a | ~test::b");
  EXPECT_EQ(told(failure + todo), "+test::a | -test::b");
  EXPECT_EQ(told(skipped + failure), "+test::a | -test::b");
}

TEST(Skips, OfTapInTheWordsOfNodeTapeAndPerl) {
  const std::string before = "TAP version 13\nok 1 - adds\nok 2 - kept\n1..2\n";
  for (const std::string line : {"ok 2 - kept # SKIP", "ok 2 - kept # skip later", "ok 2 - kept # TODO",
                                 "not ok 2 - kept # TODO later", "ok 2 - kept # todo later"})
    EXPECT_EQ(missed("tap", before, "TAP version 13\nok 1 - adds\n" + line + "\n1..2\n"), "~kept") << line;
  EXPECT_EQ(missed("tap", before, "TAP version 13\nok 1 - adds\n1..1\n"), "kept");
  EXPECT_EQ(missed("tap", before, "TAP version 13\nok 1 - adds\nok 2 - /workspace/kept.test.mjs\n1..2\n"),
            "kept");
  const std::string tape = "TAP version 13\n# adds\nok 1 equal\n# kept\nok 2 equal\n1..2\n";
  EXPECT_EQ(missed("tap", tape, "TAP version 13\n# adds\nok 1 equal\n# SKIP kept\n1..1\n"), "kept::equal");
  const std::string suite =
      "TAP version 13\n# Subtest: s\n    ok 1 - kept\n    1..1\nok 1 - s\nok 2 - adds\n1..2\n";
  EXPECT_EQ(missed("tap", suite, "TAP version 13\nok 1 - s # SKIP\nok 2 - adds\n1..2\n"), "s::kept");
}

TEST(Skips, OfJestVitestMochaGoAndCargo) {
  const auto jest = [](const std::string& status) {
    return R"({"testResults":[{"name":"/workspace/a.js","status":"passed","assertionResults":[{"title":"adds","status":"passed"})" +
           (status.empty() ? "" : R"(,{"title":"kept","status":")" + status + "\"}") + "]}]}";
  };
  for (const auto* status : {"pending", "todo", "skipped", "disabled"})
    EXPECT_EQ(missed("jest", jest("passed"), jest(status)), "~a.js::kept") << status;
  EXPECT_EQ(missed("jest", jest("passed"), jest("")), "a.js::kept");
  const std::string mocha =
      R"({"passes":[{"fullTitle":"adds"},{"fullTitle":"kept"}],"pending":[],"failures":[]})";
  EXPECT_EQ(missed("mocha", mocha,
                   R"({"passes":[{"fullTitle":"adds"}],"pending":[{"fullTitle":"kept"}],"failures":[]})"),
            "~kept");
  EXPECT_EQ(missed("mocha", mocha, R"({"passes":[{"fullTitle":"adds"}],"pending":[],"failures":[]})"),
            "kept");
  const auto go = [](const std::string& end) {
    std::string out;
    for (const auto& [action, test] : {std::pair<std::string, std::string>{"run", "TestAdds"},
                                       {"pass", "TestAdds"},
                                       {"run", "TestKept"},
                                       {end, "TestKept"}})
      if (!end.empty() || test == "TestAdds")
        out += R"({"Action":")" + action + R"(","Package":"m","Test":")" + test + "\"}\n";
    return out + "{\"Action\":\"pass\",\"Package\":\"m\"}\n";
  };
  EXPECT_EQ(missed("gotest", go("pass"), go("skip")), "~m::TestKept");
  EXPECT_EQ(missed("gotest", go("pass"), go("")), "m::TestKept");
  const std::string cargo =
      "running 2 tests\ntest adds ... ok\ntest kept ... ok\ntest result: ok. 2 passed; 0 failed; 0 "
      "ignored;\n";
  EXPECT_EQ(missed("cargo", cargo,
                   "running 2 tests\ntest adds ... ok\ntest kept ... ignored, later\ntest result: ok. 1 "
                   "passed; 0 failed; 1 ignored;\n"),
            "~kept");
  EXPECT_EQ(missed("cargo", cargo,
                   "running 1 test\ntest adds ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n"),
            "kept");
}

TEST(Skips, ATodoOfBaseThatIsMendedIsNoLoss) {
  const auto base = on_base("g", {"tests"},
                            {step_of("tap", "TAP version 13\nok 1 - adds\nnot ok 2 - later # TODO\n1..2\n")})
                        .inventories;
  EXPECT_EQ(base.at("tests").names, std::vector<std::string>{"adds"});
  for (const auto* line : {"ok 2 - later", "not ok 2 - later # TODO", "ok 2 - later # TODO"})
    EXPECT_TRUE(
        evaluate({.gate_id = "g",
                  .required = {"tests"},
                  .steps = {step_of("tap", std::string("TAP version 13\nok 1 - adds\n") + line + "\n1..2\n")},
                  .base = base})
            .at(0)
            .passed)
        << line;
}

}  // namespace
}  // namespace pawl::gates
