// Test reports as the runners document them, and as an attacker writes them. tests/cli/runners_test.py has
// reports of the real runners.
#include "gates/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "gates/told_by.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

Result<Report> read_all_of(std::string_view format, std::string text) {
  MemorySource bytes(std::move(text));
  return read_report(format, bytes, testing::plain_redactor());
}

Result<Tests> read(std::string_view format, std::string text) {
  PAWL_TRY(auto report, read_all_of(format, std::move(text)));
  return std::move(report.tests);
}

// The tests as "+a -b ~c" (passed, failed, skipped), failed NoTest entries as "!d". The message of the error
// when the report cannot be read or is cut short.
std::string shown(std::string_view format, std::string text) {
  const auto report = read_all_of(format, std::move(text));
  if (!report) return report.error().message;
  if (!report->cut_short.empty()) return report->cut_short;
  std::string out;
  for (const auto& test : report->tests) {
    const char* mark = test.status == TestStatus::kPassed   ? "+"
                       : test.status == TestStatus::kFailed ? "-"
                                                            : "~";
    out += (out.empty() ? "" : " | ") + std::string(mark) + test.name;
  }
  for (const auto& other : report->no_tests)
    if (other.failed) out += (out.empty() ? "!" : " | !") + other.name;
  return out;
}

TEST(Junit, ReadsWhatToolsWrite) {
  const auto tests =
      read("junit",
           "<?xml version='1.0'?><testsuites><testsuite name='s'><testcase classname='c' name='a'/>"
           "<testcase name='b'><failure message='m &amp; n'>text</failure></testcase><testcase "
           "name='c'><skipped/></testcase>"
           "<testcase name='d'><error/></testcase><testcase name='b'/></testsuite></testsuites>");
  ASSERT_TRUE(tests);
  ASSERT_EQ(tests->size(), 5U);
  EXPECT_EQ((*tests)[0].name, "c::a");
  EXPECT_EQ((*tests)[1].status, TestStatus::kPassed);
  EXPECT_EQ((*tests)[2].status, TestStatus::kSkipped);
  EXPECT_EQ((*tests)[3].status, TestStatus::kFailed);
  EXPECT_EQ((*tests)[4].name, "b#2") << "a repeated name is another test";
  EXPECT_EQ((*tests)[4].status, TestStatus::kFailed) << "whatever ran first";
  EXPECT_EQ((*tests)[4].message, "m & n");
}

TEST(Junit, SkippedIsSkippedInEveryDialect) {
  const auto one = [](const std::string& attributes, const std::string& inside) {
    return shown("junit",
                 "<testsuite><testcase name='a' " + attributes + ">" + inside + "</testcase></testsuite>");
  };
  for (const auto* skipped :
       {"status='run' result='skipped'", "status='notrun' result='suppressed'", "status='disabled'",
        "status='Skipped'", "result='Ignored'", "status='pending'"})
    EXPECT_EQ(one(skipped, ""), "~a") << skipped;
  for (const auto* element :
       {"<skipped/>", "<skipped message='m'>why</skipped>", "<skip/>", "<ignored/>", "<disabled/>"})
    EXPECT_EQ(one("", element), "~a") << element;
  for (const auto* failed : {"status='failed'", "status='Error'", "result='failure'"})
    EXPECT_EQ(one(failed, ""), "-a") << failed;
  EXPECT_EQ(one("status='failed'", "<skipped/>"), "-a") << "what failed is not skipped";
  for (const auto* passed : {"status='run' result='completed'", "status='passed'", ""})
    EXPECT_EQ(one(passed, ""), "+a") << passed;
}

TEST(Junit, RefusesWhatAnAttackerWrites) {
  std::string bomb = "<?xml version='1.0'?><!DOCTYPE b [<!ENTITY a 'aaaaaaaaaa'>";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " '";
    for (int i = 0; i < 10; ++i) bomb += std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += "'>";
  }
  EXPECT_FALSE(read("junit", bomb + "]><testsuite name='&j;'/>"));
  EXPECT_FALSE(read(
      "junit",
      "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><testsuite><testcase name='&e;'/></testsuite>"));
  EXPECT_FALSE(read("junit", "<html/>"));
  EXPECT_FALSE(read("junit", ""));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<testsuite>";
  EXPECT_FALSE(read("junit", deep));
  const auto long_name =
      read("junit", "<testsuite><testcase name='" + std::string(100'000, 'x') + "'/></testsuite>");
  ASSERT_TRUE(long_name);
  EXPECT_LE(long_name->at(0).name.size(), kNameBytesMax + 80);
  std::string many = "<testsuite>";
  for (std::int64_t i = 0; i <= kReportItemsMax; ++i) many += "<testcase name='t'/>";
  const auto too_many = read("junit", many + "</testsuite>");
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind, ErrorKind::kExhausted);
}

TEST(Collector, ANameIsOneTest) {
  const auto tests = read("junit",
                          "<testsuite><testcase name='a#2'/><testcase name='a'/><testcase name='a'/>"
                          "<testcase name='a'/></testsuite>");
  ASSERT_TRUE(tests);
  EXPECT_EQ(tests->at(2).name, "a#3") << "a#2 is taken";
  EXPECT_EQ(tests->at(3).name, "a#4");
}

TEST(Collector, OfEqualNamesTheStatusesAreInOrderWhateverRanFirst) {
  const auto suite = [](const std::vector<std::string>& cases) {
    std::string out = "<testsuite><testcase name='b'/>";
    for (const auto& inside : cases) out += "<testcase name='a'>" + inside + "</testcase>";
    return shown("junit", out + "</testsuite>");
  };
  std::vector<std::string> cases = {"", "<failure/>", "<skipped/>"};
  std::ranges::sort(cases);
  do EXPECT_EQ(suite(cases), "+b | +a | -a#2 | ~a#3");
  while (std::ranges::next_permutation(cases).found);
}

TEST(Tap, ADurationIsNoPartOfAName) {
  EXPECT_EQ(
      shown("tap",
            "ok 1         - test_setup                354 ms\nok 2         + boolean          98 ms\n1..2\n"),
      "+test_setup | ++ boolean");
  EXPECT_EQ(
      shown("tap",
            "1..5\nok 1 adds in 27ms\nok 2 - waits 5 ms\nok 3 - a\t1.25 s\nok 4 - in 5ms\nok 5 - 10 ms\n"),
      "+adds | +waits 5 ms | +a | +in 5ms | +10 ms");
}

TEST(Tap, SubtestsInBracesStandBehindTheirParent) {
  EXPECT_EQ(
      shown("tap",
            "TAP version 14\nok 1 - outer # time=5ms {\n    ok 1 - inner {\n        not ok 1 - deep # TODO\n"
            "        1..1\n    }\n    ok 2 - second\n    1..2\n}\n\nok 2 - last\n1..2\n"),
      "+outer | +outer::inner | ~outer::inner::deep | +outer::second | +last");
  EXPECT_EQ(shown("tap", "not ok 1 - outer\n  ---\n  at: x\n  ...\n{\n    ok 1 - inner\n    1..1\n}\n1..1\n"),
            "-outer | +outer::inner");
  EXPECT_EQ(shown("tap", "ok 1 - empty {\n}\nok 2 - parses {\nok 3 - parses }\n1..3\n"),
            "+empty | +parses { | +parses }");
  EXPECT_NE(shown("tap", "ok 1 - outer {\n    ok 1 - inner\n    1..1\n1..1\n").find("inside a subtest"),
            std::string::npos);
  EXPECT_NE(shown("tap", "ok 1 - outer {\n    ok 1 - inner\n    1..2\n}\n1..1\n").find("planned 2"),
            std::string::npos);
  EXPECT_NE(shown("tap", "ok 1 - outer {\n    ok 1 - inner\n    1..1\nok 2 - b\n1..2\n").find("not closed"),
            std::string::npos);
}

TEST(Tap, IsReadByItsSpecification) {
  EXPECT_EQ(
      shown("tap",
            "TAP version 14\n1..6\nok 1 - plain\nnot ok 2 - bad\n  ---\n  message: \"not ok 9 - no test\"\n"
            "  ...\nok 3 - left # SKIP no net\nnot ok 4 - later # TODO soon\nok 5\n# Subtest: x\n"
            "    ok 1 - in \\# it\n    1..1\nok 6 - x\nnoise\n"),
      "+plain | -bad | ~left | ~later | +test 5 | +x::in # it | +x");
  EXPECT_EQ(shown("tap", "1..0 # SKIP nothing to do\n"), "");
}

TEST(Tap, ARunThatFailedAndEndedEarlyIsAReportOfWhatRan) {
  const auto stopped = [](const std::string& text) {
    const auto report = read_all_of("tap", text);
    return report ? report->stopped : report.error().message;
  };
  for (const std::string text : {"1..3\nok 1 - a\nnot ok 2 - b\n", "ok 1 - a\nnot ok 2 - b\n"}) {
    EXPECT_EQ(shown("tap", text), "+a | -b") << text;
    EXPECT_NE(stopped(text).find(text.starts_with("1") ? "planned 3" : "no plan"), std::string::npos) << text;
  }
  EXPECT_EQ(shown("tap", "1..2\nok 1 - a\nBail out! no disk\n"), "+a | !the run bailed out");
  EXPECT_EQ(stopped("1..2\nok 1 - a\nBail out! no disk\n"), "the run bailed out");
  EXPECT_EQ(shown("tap", "1..2\nok 1 - a\n    ok 1 - inner\n    Bail out!\n"), "+a | !the run bailed out");
  EXPECT_EQ(stopped("1..1\nnot ok 1 - b\n"), "");
  EXPECT_EQ(stopped("1..1\nok 1 - a\nnot ok 2 - b\n"),
            "not a good tap report: line 3: planned 1 tests, and there are 2");
}

TEST(Tap, WhatWasCutShortIsNoReport) {
  EXPECT_EQ(shown("tap", "ok 1 - a\n"),
            "not a good tap report: line 1: there is no plan (1..N): it may have ended in the middle");
  EXPECT_EQ(shown("tap", "1..3\nok 1 - a\n"),
            "not a good tap report: line 2: planned 3 tests, and there are 1");
  EXPECT_EQ(shown("tap", "1..1\n    ok 1 - in\n    1..1\n"),
            "not a good tap report: line 3: it ends inside a subtest");
  EXPECT_EQ(shown("tap", "1..1\nok 1 - a\n1..1\n"),
            "not a good tap report: line 3: a second plan: each program needs a report of its own "
            "(PERL_TEST_HARNESS_DUMP_TAP=tap prove, with tap/**)");
  EXPECT_FALSE(read("tap", "1..1\n" + std::string(4 * 1000, ' ') + "ok 1 - deep\n"));
}

TEST(Go, TestsBelongToPackages) {
  EXPECT_EQ(shown("gotest",
                  R"({"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"{\"Action\":\"pass\"}\n"}
{"Action":"pass","Package":"m/a","Test":"TestX","Elapsed":0.01}
{"Action":"run","Package":"m/a","Test":"TestY"}
{"Action":"skip","Package":"m/a","Test":"TestY"}
{"Action":"pass","Package":"m/a"}
)"),
            "+m/a::TestX | ~m/a::TestY");
  EXPECT_EQ(shown("gotest",
                  R"(# m/b
{"Action":"run","Package":"m/b","Test":"TestPanics"}
{"Action":"fail","Package":"m/b","Elapsed":0.01}
)"),
            "-m/b::TestPanics")
      << "it never ended";
  EXPECT_EQ(shown("gotest", R"({"Action":"fail","Package":"m/c"})"), "!m/c") << "it was not built";
  EXPECT_EQ(shown("gotest", R"({"Action":"start","Package":"m/d"})"), "!m/d") << "cut short";
  EXPECT_FALSE(read("gotest", "PASS\n"));
  EXPECT_FALSE(read("gotest", "{\"Action\":\"pass\"\n"));
}

constexpr const char* kCargo = R"(
running 3 tests
test a::works ... ok
test b - should panic ... FAILED
test slow ... ignored, takes long

failures:

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
)";

// Before Go 1.20 there was no event for the end of a test that printed no line end.
TEST(Go, AnEndInTheOutputCountsWhereThePackageAgrees) {
  const auto report = [](const std::string& outputs, const std::string& end) {
    return shown("gotest", "{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"TestA\"}\n" + outputs +
                               "{\"Action\":\"" + end + "\",\"Package\":\"x\"}\n");
  };
  const auto said = [](const std::string& text) {
    return "{\"Action\":\"output\",\"Package\":\"x\",\"Test\":\"TestA\",\"Output\":\"" + text + "\"}\n";
  };
  EXPECT_EQ(report(said("50%--- PASS: TestA (0.00s)\\n"), "pass"), "+x::TestA");
  EXPECT_EQ(report(said("50%") + said("--- SKIP: TestA (0.00s)\\n"), "pass"), "~x::TestA");
  EXPECT_EQ(report(said("50%--- FAIL: TestA (0.00s)\\n"), "fail"), "-x::TestA");
  EXPECT_EQ(report(said("50%--- FAIL: TestA (0.00s)\\n"), "pass"), "-x::TestA");
  EXPECT_EQ(report(said("50%--- PASS: TestA (0.00s)\\n"), "fail"), "-x::TestA")
      << "a package that failed proves nothing";
  const std::string other =
      "{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"TestB\"}\n{\"Action\":\"fail\",\"Package\":\"x\","
      "\"Test\":"
      "\"TestB\"}\n";
  const std::string told = "{\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"FAIL\\n\"}\n";
  EXPECT_EQ(report(said("50%--- PASS: TestA (0.00s)\\n") + other + told, "fail"), "-x::TestB | +x::TestA")
      << "it says that all of it ran, and which one failed";
  EXPECT_EQ(report(said("50%--- PASS: TestA (0.00s)\\n") + other, "fail"), "-x::TestB | -x::TestA");
  EXPECT_EQ(report(said("50%--- PASS: TestA (0.00s)\\n") + told, "fail"), "-x::TestA")
      << "nothing else failed";
  EXPECT_EQ(report("{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"TestB\"}\n" +
                       said("50%--- PASS: TestA (0.00s)\\n") + said("7--- FAIL: TestB (0.00s)\\n") + told,
                   "fail"),
            "+x::TestA | -x::TestB");
  EXPECT_EQ(report(said("--- PASS: TestB (0.00s)\\n"), "pass"), "-x::TestA") << "the end of another test";
  EXPECT_EQ(report("", "pass"), "-x::TestA") << "it left in the middle";
}

TEST(Cargo, ADocTestIsKnownAgainWhenLinesMove) {
  const auto report = [](const std::string& tests) {
    return shown("cargo",
                 "   Doc-tests x\n\nrunning 2 tests\n" + tests +
                     "\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
  };
  EXPECT_EQ(
      report(
          "test src/lib.rs - sum (line 3) ... ok\ntest src/lib.rs - sum (line 12) - compile fail ... ok\n"),
      report(
          "test src/lib.rs - sum (line 4) ... ok\ntest src/lib.rs - sum (line 13) - compile fail ... ok\n"));
  EXPECT_EQ(report("test src/lib.rs - sum (line 3) ... ok\ntest src/lib.rs - sum (line 9) ... ok\n"),
            "+Doc-tests x::src/lib.rs - sum | +Doc-tests x::src/lib.rs - sum#2");
  EXPECT_EQ(report("test a (line x) ... ok\ntest b (line ) ... ok\n"),
            "+Doc-tests x::a (line x) | +Doc-tests x::b (line )");
}

TEST(Cargo, TotalsMustAgree) {
  EXPECT_EQ(shown("cargo", kCargo), "+a::works | -b - should panic | ~slow");
  EXPECT_EQ(
      shown("cargo", "     Running unittests src/lib.rs (target/debug/deps/a-0)\n" + std::string(kCargo)),
      "+src/lib.rs::a::works | -src/lib.rs::b - should panic | ~src/lib.rs::slow");
  EXPECT_EQ(shown("cargo", std::string("\nrunning 1 test\ntest forged ... ok\n") + (kCargo + 1)),
            "not a good cargo report: line 4: another program's tests before the totals of the one before");
  EXPECT_FALSE(read("cargo", "running 1 test\ntest a ... ok\n")) << "no totals";
  const std::string aborted =
      "     Running unittests src/lib.rs (target/debug/deps/a-0)\nrunning 2 tests\ntest a ... ok\n"
      "error: test failed, to rerun pass `--lib`\n\nCaused by:\n  process didn't exit successfully (signal: "
      "6, SIGABRT: process abort signal)\n";
  EXPECT_EQ(shown("cargo", aborted), "+src/lib.rs::a | !src/lib.rs");
  EXPECT_EQ(read_all_of("cargo", aborted)->stopped, "src/lib.rs ended before its totals");
  EXPECT_FALSE(read(
      "cargo",
      "running 1 test\ntest a ... ok\ntest b ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n"));
  EXPECT_FALSE(read("cargo", ""));
}

TEST(Jest, AFileThatCouldNotBeLoadedFailed) {
  EXPECT_EQ(shown("jest", R"({"numTotalTests": 3, "testResults": [
    {"name": "/workspace/a.test.js", "status": "failed", "assertionResults": [
      {"ancestorTitles": ["x", "y"], "title": "works", "status": "passed", "failureMessages": []},
      {"ancestorTitles": [], "title": "fails", "status": "failed", "failureMessages": ["why"]},
      {"ancestorTitles": [], "title": "later", "status": "todo"}]},
    {"name": "/workspace/b.test.js", "status": "failed", "assertionResults": [], "message": "SyntaxError"}], "x": [[1]]})"),
            "+a.test.js::x > y > works | -a.test.js::fails | ~a.test.js::later | !b.test.js");
  EXPECT_FALSE(read("jest", "{}"));
  EXPECT_FALSE(read("jest", "[]"));
  EXPECT_FALSE(read("jest", R"({"testResults": [1]})"));
  EXPECT_FALSE(read("jest", R"({"testResults": [{"assertionResults": [)"));
  EXPECT_FALSE(read("jest", R"({"testResults": [)" + std::string(100'000, '[')));
}

TEST(Mocha, FailuresIncludeHooks) {
  EXPECT_EQ(shown("mocha", R"({"stats": {"tests": 2}, "tests": [{"fullTitle": "not read"}],
    "pending": [{"fullTitle": "c later", "file": "/workspace/t.js", "err": {}}],
    "failures": [{"fullTitle": "\"before each\" hook for b", "file": "/workspace/t.js", "err": {"message": "m"}}],
    "passes": [{"fullTitle": "a works", "file": "/workspace/t.js", "err": {}}]})"),
            "~t.js::c later | +t.js::a works | !t.js::\"before each\" hook for b");
  EXPECT_FALSE(read("mocha", R"({"passes": []})"));
}

TEST(Ctest, TestsHaveAStatus) {
  EXPECT_EQ(shown("ctest", R"(<?xml version="1.0"?><Site><Testing><TestList><Test>./one</Test></TestList>
    <Test Status="passed"><Name>one</Name></Test><Test Status="failed"><Name>two &amp; more</Name></Test>
    <Test Status="notrun"><Name>three</Name></Test></Testing></Site>)"),
            "+one | -two & more | ~three");
  EXPECT_FALSE(read("ctest", "<Site/>"));
}

// OASIS SARIF 2.1.0.
TEST(Sarif, AResultIsKnownAgainWhenLinesMove) {
  const auto result = [](const std::string& more) {
    return R"({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "rules": [{"id": "r"}]}},
      "results": [{"ruleId": "r1", "level": "error", "message": {"text": "m"}, "locations": [{"physicalLocation":
        {"artifactLocation": {"uri": "file:///workspace/src/a.c"}, "region": {"startLine": 3}}}])" +
           more + "}]}]}";
  };
  EXPECT_EQ(found("sarif", result("")), "src/a.c::r1: m high");
  EXPECT_EQ(
      found("sarif", result(R"(, "partialFingerprints": {"primaryLocationLineHash": "39fa2ee980eb94b0:1"})")),
      "src/a.c::r1: primaryLocationLineHash 39fa2ee980eb94b0:1 high");
  EXPECT_EQ(found("sarif", result(R"(, "suppressions": [{"kind": "inSource"}])")), "src/a.c::r1: m high")
      << "who writes the code can write the comment";
  EXPECT_EQ(found("sarif", result(R"(, "kind": "pass")")), "");
}

TEST(Sarif, WhatIsAbsentIsNoFindingAndWhatMovedIsTheSame) {
  const auto result = [](const std::string& more) {
    return found(
        "sarif",
        "{\"version\":\"2.1.0\",\"runs\":[{\"results\":[{\"ruleId\":\"R\",\"message\":{\"text\":\"m\"}" +
            more + "}]}]}");
  };
  const auto in = [](const std::string& file) {
    return ",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"" + file + "\"}}}]";
  };
  EXPECT_EQ(result(",\"baselineState\":\"absent\""), "");
  for (const auto* state : {"new", "unchanged", "updated"})
    EXPECT_EQ(result(std::string(",\"baselineState\":\"") + state + "\""), "R: m medium") << state;
  const std::string whole = ",\"fingerprints\":{\"v1\":\"f\"}",
                    partial = ",\"partialFingerprints\":{\"v1\":\"f\"}";
  EXPECT_EQ(result(in("a.c") + whole), result(in("b/c.c") + whole));
  EXPECT_NE(result(in("a.c") + partial), result(in("b/c.c") + partial))
      << "a part of what tells it, beside its place";
}

// A new line above a finding changes the line numbers in its message.
TEST(Sarif, AFindingIsTheSameWhereItsMessageNamesOtherLines) {
  const auto says = [](const std::string& message) {
    return found("sarif",
                 R"({"runs": [{"results": [{"ruleId": "r", "message": {"text": ")" + message + R"("}}]}]})");
  };
  for (const auto& [before, after] :
       {std::pair{"'x' is already declared in the upper scope on line 3 column 7.",
                  "'x' is already declared in the upper scope on line 14 column 9."},
        {"method already defined line 7", "method already defined line 8"},
        {"Redefining 'x' from outer scope (line 3)", "Redefining 'x' from outer scope (line 4)"},
        {"`end` at 5, 2 is not aligned with `def` at 3, 4.",
         "`end` at 6, 2 is not aligned with `def` at 4, 4."},
        {"duplicate of lines 3-9 (a.js:3:1)", "duplicate of lines 4-10 (a.js:4:1)"},
        {"unexpected token (3:7)", "unexpected token (4:7)"}})
    EXPECT_EQ(says(before), says(after));
  for (const auto& [one, another] : {std::pair{"has 3 arguments", "has 4 arguments"},
                                     {"expected at most 3, found 5", "expected at most 4, found 5"},
                                     {"line is too long (120)", "line is too long (121)"},
                                     {"'line3' is unused", "'line4' is unused"}})
    EXPECT_NE(says(one), says(another));
}

TEST(Sarif, RunsAreOne) {
  EXPECT_EQ(found("sarif", R"({"runs": [{"results": [{"ruleIndex": 4, "message": {"id": "m1"}}]},
                                        {"results": []},
                                        {"results": [{"rule": {"id": "r"}, "message": {"text": "m"}, "level": "note"}]}]})"),
            "rule 4: m1 medium | r: m low");
  EXPECT_EQ(found("sarif", R"({"runs": [{"tool": {"results": [{"ruleId": "inner"}]}}]})"),
            "not a good sarif report: no run in it has results");
  EXPECT_EQ(found("sarif", R"({"runs.results": [{"ruleId": "x"}], "runs": []})"),
            "not a good sarif report: no run in it has results")
      << "a key with a dot is not two";
  EXPECT_EQ(found("sarif", R"({"runs": [{"invocations": [{"executionSuccessful": false}], "results": []}]})"),
            "not a good sarif report: it says of its own run that it did not succeed");
}

TEST(Grype, MatchesArePackagesWithAVulnerability) {
  EXPECT_EQ(found("grype", R"({"matches": [
      {"vulnerability": {"id": "CVE-2023-45853", "severity": "Critical", "fix": {"versions": [], "state": "wont-fix"}},
       "relatedVulnerabilities": [], "matchDetails": [{"type": "exact-direct-match"}],
       "artifact": {"name": "zlib1g", "version": "1:1.2.13", "type": "deb", "purl": "pkg:deb/debian/zlib1g@1"}},
      {"vulnerability": {"id": "GHSA-xvch-5gv4-984h", "severity": "Negligible"}, "artifact": {"name": "minimist"}}],
      "source": {"type": "directory", "target": "."}, "distro": {"name": ""}, "descriptor": {"name": "grype"}})"),
            "zlib1g::CVE-2023-45853 critical | minimist::GHSA-xvch-5gv4-984h low");
  EXPECT_EQ(found("grype", R"({"matches": []})"), "");
  EXPECT_EQ(found("grype", R"({"matches": [{"vulnerability": {}}]})"),
            "not a good grype report: a match without a vulnerability or an artifact");
  EXPECT_EQ(found("grype", "{}"), "not a good grype report: matches is not in it, once");
  EXPECT_EQ(found("grype", R"({"matches": [], "matches": []})"),
            "not a good grype report: matches is not in it, once");
}

TEST(Osv, SeverityIsTheWorseOfAdvisoryAndGroup) {
  EXPECT_EQ(
      found("osv", R"({"results": [{"source": {"path": "/workspace/package-lock.json", "type": "lockfile"},
      "packages": [{"package": {"name": "minimist", "version": "0.0.8", "ecosystem": "npm"},
        "vulnerabilities": [{"id": "GHSA-vh95-rmgr-6w4m", "database_specific": {"severity": "MODERATE"}},
                            {"id": "GHSA-xvch-5gv4-984h", "database_specific": {"severity": "CRITICAL"}}],
        "groups": [{"ids": ["GHSA-vh95-rmgr-6w4m"], "aliases": ["CVE-2020-7598"], "max_severity": "7.5"},
                   {"ids": ["GHSA-xvch-5gv4-984h"], "max_severity": ""}]}]}]})"),
      "npm/minimist::GHSA-vh95-rmgr-6w4m high | npm/minimist::GHSA-xvch-5gv4-984h critical");
  EXPECT_EQ(found("osv", R"({"results": []})"), "");
  EXPECT_EQ(found("osv", R"({"packages": []})"), "not a good osv report: no results in it");
}

TEST(NpmAudit, AnAdvisoryIsToldOnce) {
  EXPECT_EQ(found("npm_audit", R"({"auditReportVersion": 2, "vulnerabilities": {
      "minimist": {"name": "minimist", "severity": "critical", "isDirect": false, "effects": ["mkdirp"],
        "via": [{"source": 1097677, "name": "minimist", "dependency": "minimist", "title": "Prototype Pollution",
                 "url": "https://example.org/advisories/GHSA-1", "severity": "critical", "range": "<0.2.4"}]},
      "mkdirp": {"name": "mkdirp", "severity": "critical", "via": ["minimist"], "effects": []}},
      "metadata": {"vulnerabilities": {"critical": 2, "total": 2}}})"),
            "minimist::https://example.org/advisories/GHSA-1 critical");
  EXPECT_EQ(found("npm_audit", R"({"vulnerabilities": {}})"), "");
  EXPECT_EQ(found("npm_audit", R"({"message": "405 Method Not Allowed", "error": {"summary": ""}})"),
            "not a good npm_audit report: vulnerabilities is not in it, once");
  EXPECT_EQ(found("npm_audit", R"({"vulnerabilities": {"a": 1}})"),
            "not a good npm_audit report: vulnerabilities: a member that is no object");
}

// cyclonedx.org/docs/1.5/json
TEST(Cyclonedx, AComponentIsItsPackageUrl) {
  EXPECT_EQ(found("cyclonedx", R"({"bomFormat": "CycloneDX", "specVersion": "1.5",
      "vulnerabilities": [{"bom-ref": "v1", "id": "CVE-1", "source": {"name": "NVD"},
          "ratings": [{"severity": "medium"}, {"score": 9.8, "severity": "critical", "method": "CVSSv31"}],
          "affects": [{"ref": "c1"}, {"ref": "pkg:npm/b@2.0.0"}, {"ref": "pkg:npm/%40s/c@3.0.0?x=y"},
              {"ref": "pkg:npm/@s/d@3.0.0#e"}, {"ref": "pkg:npm/@s/f"}, {"ref": "pkg:g@1"}, {"ref": "pkg:"}]},
        {"id": "CVE-2", "affects": []}],
      "components": [{"bom-ref": "c1", "type": "library", "name": "a", "version": "1", "purl": "pkg:npm/a@1.0.0"}]})"),
            "pkg:npm/a::CVE-1 critical | pkg:npm/b::CVE-1 critical | pkg:npm/%40s/c::CVE-1 critical | "
            "pkg:npm/@s/d::CVE-1 critical | pkg:npm/@s/f::CVE-1 critical | pkg:g::CVE-1 critical | "
            "pkg:::CVE-1 critical | CVE-2 "
            "unknown");
  EXPECT_EQ(found("cyclonedx", R"({"bomFormat": "CycloneDX", "components": []})"),
            "not a good cyclonedx report: vulnerabilities is not in it, once");
}

TEST(Findings, AreBounded) {
  std::string many = R"({"matches": [)";
  for (std::int64_t i = 0; i <= kReportItemsMax; ++i)
    many += R"({"vulnerability": {"id": "a"}, "artifact": {"name": "b"}},)";
  many.back() = ']';
  EXPECT_EQ(found("grype", many + "}"),
            "not a good grype report: more tests or findings than the limit of 200000");
  std::string deep = R"({"runs": [{"results": [)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":[)";
  EXPECT_EQ(found("sarif", deep), "not a good sarif report: nested too deeply");
  std::string keys = "{";
  for (int i = 0; i < 60; ++i) keys += "\"" + std::string(100'000, 'k') + "\":{";
  EXPECT_EQ(found("osv", keys).substr(0, 20), "not a good osv repor");
}

TEST(Formats, AnUnknownOneIsAnError) { EXPECT_EQ(read("junit5", "").error().kind, ErrorKind::kNotFound); }

}  // namespace
}  // namespace pawl::gates
