// Test reports as the runners document them, and as an attacker writes them. What the real runners write is
// in tests/cli/runners_test.py.
#include "gates/test_report.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace pawl::gates {
namespace {

Result<Tests> read(std::string_view format, std::string text) {
  MemorySource bytes(std::move(text));
  return read_tests(format, bytes);
}

// "+a -b ~c": passed, failed, skipped; or why not.
std::string shown(std::string_view format, std::string text) {
  const auto tests = read(format, std::move(text));
  if (!tests) return tests.error().message;
  std::string out;
  for (const auto& test : *tests) {
    const char* mark = test.status == TestStatus::kPassed   ? "+"
                       : test.status == TestStatus::kFailed ? "-"
                                                            : "~";
    out += (out.empty() ? "" : " | ") + std::string(mark) + test.name;
  }
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
  EXPECT_EQ((*tests)[1].status, TestStatus::kFailed);
  EXPECT_EQ((*tests)[1].message, "m & n");
  EXPECT_EQ((*tests)[2].status, TestStatus::kSkipped);
  EXPECT_EQ((*tests)[3].status, TestStatus::kFailed);
  EXPECT_EQ((*tests)[4].name, "b#2") << "a repeated name is another test";
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
  EXPECT_LE(long_name->at(0).name.size(), kTestNameBytesMax + 80);
  std::string many = "<testsuite>";
  for (std::int64_t i = 0; i <= kReportTestsMax; ++i) many += "<testcase name='t'/>";
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

TEST(Tap, IsReadByItsSpecification) {
  EXPECT_EQ(
      shown("tap",
            "TAP version 14\n1..6\nok 1 - plain\nnot ok 2 - bad\n  ---\n  message: \"not ok 9 - no test\"\n"
            "  ...\nok 3 - left # SKIP no net\nnot ok 4 - later # TODO soon\nok 5\n# Subtest: x\n"
            "    ok 1 - in \\# it\n    1..1\nok 6 - x\nnoise\n"),
      "+plain | -bad | ~left | ~later | +test 5 | +x::in # it | +x");
  EXPECT_EQ(shown("tap", "1..0 # SKIP nothing to do\n"), "");
}

TEST(Tap, WhatWasCutShortIsNoReport) {
  EXPECT_EQ(shown("tap", "ok 1 - a\n"),
            "not a good tap report: line 1: there is no plan (1..N): it may have ended in the middle");
  EXPECT_EQ(shown("tap", "1..3\nok 1 - a\n"),
            "not a good tap report: line 2: planned 3 tests, and there are 1");
  EXPECT_EQ(shown("tap", "1..2\nok 1 - a\nBail out! no disk\n"),
            "not a good tap report: line 3: the run bailed out");
  EXPECT_EQ(shown("tap", "1..1\n    ok 1 - in\n    1..1\n"),
            "not a good tap report: line 3: it ends inside a subtest");
  EXPECT_EQ(shown("tap", "1..1\nok 1 - a\n1..1\n"), "not a good tap report: line 3: a second plan");
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
  EXPECT_EQ(shown("gotest", R"({"Action":"fail","Package":"m/c"})"), "-m/c") << "it was not built";
  EXPECT_EQ(shown("gotest", R"({"Action":"start","Package":"m/d"})"), "-m/d") << "cut short";
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

TEST(Cargo, TotalsMustAgree) {
  EXPECT_EQ(shown("cargo", kCargo), "+a::works | -b - should panic | ~slow");
  EXPECT_EQ(
      shown("cargo", "     Running unittests src/lib.rs (target/debug/deps/a-0)\n" + std::string(kCargo)),
      "+src/lib.rs::a::works | -src/lib.rs::b - should panic | ~src/lib.rs::slow");
  EXPECT_EQ(shown("cargo", std::string("\nrunning 1 test\ntest forged ... ok\n") + (kCargo + 1)),
            "not a good cargo report: line 4: another program's tests before the totals of the one before");
  EXPECT_FALSE(read("cargo", "running 1 test\ntest a ... ok\n")) << "no totals";
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
            "+a.test.js::x > y > works | -a.test.js::fails | ~a.test.js::later | -b.test.js");
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
            "~t.js::c later | -t.js::\"before each\" hook for b | +t.js::a works");
  EXPECT_FALSE(read("mocha", R"({"passes": []})"));
}

TEST(Ctest, TestsHaveAStatus) {
  EXPECT_EQ(shown("ctest", R"(<?xml version="1.0"?><Site><Testing><TestList><Test>./one</Test></TestList>
    <Test Status="passed"><Name>one</Name></Test><Test Status="failed"><Name>two &amp; more</Name></Test>
    <Test Status="notrun"><Name>three</Name></Test></Testing></Site>)"),
            "+one | -two & more | ~three");
  EXPECT_FALSE(read("ctest", "<Site/>"));
}

TEST(Formats, AnUnknownOneIsAnError) { EXPECT_EQ(read("junit5", "").error().kind, ErrorKind::kNotFound); }

}  // namespace
}  // namespace pawl::gates
