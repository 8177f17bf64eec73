// Reports of real runners in which more fails than a test: files that do not load, hooks, teardowns, packages
// that are not built. The runners wrote these texts; they are shortened.
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

constexpr const char* kPytest =
    R"(<testsuites name="pytest tests"><testsuite name="pytest" errors="4" failures="2" skipped="2" tests="16" time="0.2">
<testcase classname="" name="test_load" time="0.000"><error message="collection failure">ImportError while importing test module
test_load.py:1: in &lt;module&gt;
    import nope
E   ModuleNotFoundError: No module named 'nope'</error></testcase>
<testcase classname="" name="test_skipmod" time="0.000"><skipped message="collection skipped">('x.py', 1, "Skipped")</skipped></testcase>
<testcase classname="test_a" name="test_pass_teardown" time="0.001"><error message="failed on teardown with &quot;RuntimeError: teardown broke&quot;">E       RuntimeError: teardown broke</error></testcase>
<testcase classname="test_a" name="test_fail_teardown" time="0.006"><failure message="assert 1 == 2">res = 1

&gt;   def test_fail_teardown(res): assert 1 == 2
E   assert 1 == 2

test_a.py:10: AssertionError</failure></testcase>
<testcase classname="test_a" name="test_fail_teardown" time="0.000"><error message="failed on teardown with &quot;RuntimeError: teardown broke&quot;">E       RuntimeError: teardown broke</error></testcase>
<testcase classname="test_a" name="test_setup" time="0.001"><error message="failed on setup with &quot;RuntimeError: setup broke&quot;">E       RuntimeError: setup broke</error></testcase>
<testcase classname="test_a.T" name="test_sub" time="0.007"><failure message="AssertionError: False is not true : i is too much">E               AssertionError</failure></testcase>
<testcase classname="test_a.T" name="test_sub_ok" time="0.007" /></testsuite></testsuites>)";

TEST(Readers, OfPytestCollectionAndASecondTeardownAreNoTests) {
  EXPECT_EQ(
      told_by("junit", kPytest),
      "~test_skipmod | -test_a::test_pass_teardown | -test_a::test_fail_teardown | -test_a::test_setup | "
      "-test_a.T::test_sub | +test_a.T::test_sub_ok | !test_load | !teardown of "
      "test_a::test_fail_teardown");
  EXPECT_EQ(bound_of("junit", kPytest), "test_load could not be loaded");
  EXPECT_EQ(message_in("junit",
                       R"(<testsuite><testcase classname="t" name="a"><failure message="assert 1 == 2">x = 1

&gt;   assert x == 2
E   assert 1 == 2

test_a.py:10: AssertionError</failure></testcase></testsuite>)"),
            "x = 1\n\n>   assert x == 2\nE   assert 1 == 2\n\ntest_a.py:10: AssertionError");
}

TEST(Readers, OfJavaAFailedClassIsNoTest) {
  for (const auto* name : {"initializationError", "", "classMethod", "executionError"}) {
    const std::string text =
        "<testsuite name='com.x.ATest' tests='2' errors='1' skipped='0' failures='0'><testcase "
        "name='" +
        std::string(name) +
        "' classname='com.x.ATest' time='0'><error message='no driver' type='E'/></testcase>"
        "<testcase name='works' classname='com.x.BTest'/></testsuite>";
    EXPECT_EQ(told_by("junit", text), "+com.x.BTest::works | !com.x.ATest") << name;
    EXPECT_EQ(bound_of("junit", text), "com.x.ATest could not be loaded");
  }
}

TEST(Readers, OfGoReportersAFailedPackageIsNoTest) {
  for (const auto* name : {"TestMain", "[build failed]", "[setup failed]"})
    EXPECT_EQ(
        told_by("junit",
                "<testsuites tests='1' failures='1'><testsuite tests='1' failures='1' name='m/a'><testcase "
                "classname='m/a' name='" +
                    std::string(name) + "'><failure message='Failed'/></testcase></testsuite></testsuites>"),
        "!m/a");
}

TEST(Readers, OfJavaScriptFilesHooksAndSuitesAreNoTests) {
  EXPECT_EQ(told_by("junit", R"(<testsuites name="vitest tests" tests="3" failures="2" errors="0">
<testsuite name="a.test.js" tests="2" failures="1" errors="0" skipped="0">
<testcase classname="a.test.js" name="h &gt; x"></testcase>
<testcase classname="a.test.js" name="h"><failure message="before broke" type="Error">Error: before broke</failure></testcase></testsuite>
<testsuite name="b.test.js" tests="1" failures="1" errors="0" skipped="0"><testcase classname="b.test.js" name="b.test.js">
<failure message="Failed to load url ./nope.js" type="Error"/></testcase></testsuite></testsuites>)"),
            "+a.test.js::h > x | !b.test.js | !a.test.js::h");
  EXPECT_EQ(
      told_by(
          "junit",
          R"(<testsuites name="jest tests" tests="1" failures="1" errors="1"><testsuite name="h" tests="1" failures="0">
<testcase classname="h c ok" name="h c ok"></testcase>
<testcase classname=" Test execution failure: could be caused by test hooks like &apos;afterAll&apos;." name=" Test execution failure: could be caused by test hooks like &apos;afterAll&apos;."><failure>after broke</failure></testcase></testsuite>
<testsuite name="b.test.js" errors="1" failures="0" tests="0"><testcase classname="Test suite failed to run" name="/workspace/b.test.js"><error>Cannot find module</error></testcase></testsuite></testsuites>)"),
      "+h c ok::h c ok | !h | !b.test.js");
  // Mocha's suites count pending tests but do not list them.
  const std::string pending =
      R"(<testsuites name="Mocha Tests" tests="4" failures="%" skipped="2"><testsuite name="Root Suite" tests="0" failures="0"/>
<testsuite name="d" tests="4" file="m.cjs" failures="0"><testcase name="d ok" classname="ok"/><testcase name="d too" classname="too"/></testsuite>)";
  auto well = pending, broken = pending;
  well.replace(well.find('%'), 1, "0");
  broken.replace(broken.find('%'), 1, "1");
  EXPECT_EQ(told_by("junit", well + "</testsuites>"), "+ok::d ok | +too::d too");
  EXPECT_EQ(
      told_by(
          "junit",
          broken +
              R"(<testsuite name="h" tests="1" failures="1"><testcase name="h &quot;before all&quot; hook for &quot;x&quot;" classname="&quot;before all&quot; hook for &quot;x&quot;"><failure message="broke"/></testcase></testsuite></testsuites>)"),
      "+ok::d ok | +too::d too | !h \"before all\" hook for \"x\"");
  EXPECT_EQ(
      told_by(
          "junit",
          R"(<testsuites><testcase name="ok" classname="test"/><testcase name="/workspace/load.test.mjs" classname="test">
<failure type="testCodeFailure" message="test failed">Error</failure></testcase></testsuites>)"),
      "+test::ok | !load.test.mjs");
}

TEST(Readers, OfUnittestALoadErrorIsNoTest) {
  EXPECT_EQ(told_by("junit",
                    "<testsuite tests='1' errors='1'><testcase classname='unittest.loader._FailedTest' "
                    "name='test_load'><error message='ImportError'/></testcase></testsuite>"),
            "!test_load");
  EXPECT_EQ(told_by("junit",
                    "<testsuite tests='1' errors='1'><testcase classname='unittest.suite._ErrorHolder' "
                    "name='setUpClass (t.T)'><error message='x'/></testcase></testsuite>"),
            "!setUpClass (t.T)");
}

struct NotOne {
  const char* attributes;  // attributes of the case that is not a test
  const char* message;
  const char* told;
  const char* bound;
};

TEST(Readers, WhatStandsForARunnerOrAHookIsNoTest) {
  constexpr NotOne kAll[] = {
      {"classname='pytest' name='internal'", "internal error", "+c::a | !pytest::internal",
       "pytest had an internal error"},
      {"classname='' name='' status='run' result='completed'", "", "+c::a | !NonTestSuiteFailure",
       "NonTestSuiteFailure failed"},
      {"classname='m/p' name='Failure'", "Runtime error", "+c::a | !m/p", "m/p could not be loaded"},
      {"classname='' name='setUpClass (tests.T)'", "", "+c::a | !setUpClass (tests.T)",
       "setUpClass (tests.T) failed"},
      {"classname='' name='setUpModule (tests)'", "", "+c::a | !setUpModule (tests)",
       "setUpModule (tests) failed"},
      {"classname='' name='tearDownClass (tests.T)'", "", "+c::a | !tearDownClass (tests.T)", ""},
      {"classname='org.x.T' name='setUp'", "", "+c::a | !org.x.T::setUp", "org.x.T::setUp failed"},
      {"classname='org.x.T' name='beforeMethod'", "", "+c::a | !org.x.T::beforeMethod",
       "org.x.T::beforeMethod failed"},
      {"classname='a.bats' name='setup_file failed'", "", "+c::a | !setup_file failed",
       "setup_file failed failed"},
      {"classname='a.bats' name='teardown_file failed'", "", "+c::a | !teardown_file failed", ""}};
  for (const auto& one : kAll) {
    const std::string text =
        "<testsuite name='NonTestSuiteFailure'><testcase classname='c' name='a'/><testcase " +
        std::string(one.attributes) + "><error message='" + one.message + "'/></testcase></testsuite>";
    EXPECT_EQ(told_by("junit", text), one.told);
    EXPECT_EQ(bound_of("junit", text), one.bound) << text;
  }
  // Tests with the same names but with another message or class stay tests.
  EXPECT_EQ(told_by("junit",
                    "<testsuite><testcase classname='pytest' name='internal'><failure message='1 == "
                    "2'/></testcase><testcase classname='c' name='Failure'><failure message='m'/></testcase>"
                    "<testcase classname='c' name='setUp'/><testcase classname='c' name='setUpClass (x)'>"
                    "<failure/></testcase></testsuite>"),
            "-pytest::internal | -c::Failure | +c::setUp | -c::setUpClass (x)");
}

TEST(Readers, OfBatsSetupsAndTeardownsOfFilesAreNoTests) {
  EXPECT_EQ(told_by("tap", "1..2\nok 1 a\nnot ok 2 setup_file failed\n# (from function `setup_file')\n"),
            "+a | !setup_file failed");
  EXPECT_EQ(told_by("tap", "1..3\nnot ok 1 setup_file failed\n# bats warning: Executed 1 instead of 3\n"),
            "!setup_file failed");
  EXPECT_EQ(bound_of("tap", "1..1\nnot ok 1 bats-gather-tests\n"), "bats-gather-tests failed");
  EXPECT_EQ(told_by("tap", "1..3\nnot ok 1 setup_suite\n"), "!setup_suite");
  EXPECT_EQ(told_by("tap", "1..1\nok 1 a\nnot ok 2 teardown_file failed\n"), "+a | !teardown_file failed");
  EXPECT_EQ(bound_of("tap", "1..1\nok 1 a\nnot ok 2 teardown_file failed\n"), "");
  EXPECT_NE(bound_of("tap", "1..3\nok 1 a\nnot ok 2 teardown_file failed\n").find("planned 3"),
            std::string::npos);
  for (const auto* bad :
       {"1..3\nok 1 setup_suite\n", "1..1\nok 1 a\nok 2 b\nnot ok 3 teardown_file failed\n"})
    EXPECT_NE(told_by("tap", bad).find("planned"), std::string::npos) << bad;
}

TEST(Readers, AJunitSuiteCanFailByItself) {
  EXPECT_EQ(told_by("junit",
                    "<testsuites><testsuite name='s' errors='1'><error message='not loaded'/></testsuite>"
                    "<testsuite name='t'><testcase name='a'/></testsuite></testsuites>"),
            "+a | !s");
  EXPECT_EQ(message_in("junit", "<testsuite name='s'><failure>why not</failure></testsuite>"), "why not");
  EXPECT_EQ(bound_of("junit", "<testsuite name='s'><error/></testsuite>"), "s failed");
}

TEST(Readers, JunitTotalsAreHeldAgainstTheTests) {
  for (const auto* text :
       {"<testsuites tests='3' failures='2'><testsuite name='s'><testcase "
        "name='a'/></testsuite></testsuites>",
        "<testsuites><testsuite name='s' tests='1' errors='1'><testcase name='a'/></testsuite></testsuites>",
        "<testsuites errors='1'><testsuite><testcase name='a'/></testsuite></testsuites>",
        "<testsuite failures='1'><testcase name='a'><skipped/></testcase></testsuite>",
        "<testsuite tests='2'><testcase name='a'/></testsuite>",
        "<testsuites tests='9' skipped='2'><testsuite><testcase name='a'/></testsuite></testsuites>"})
    EXPECT_TRUE(told_by("junit", text).find("says that it has") != std::string::npos ||
                told_by("junit", text).find("says that") != std::string::npos)
        << text << ": " << told_by("junit", text);
  // Catch2 and doctest count assertions, and pytest counts subtests. A runner may list more tests than it
  // counts.
  for (const auto* text : {"<testsuites><testsuite name='a' errors='0' failures='0' tests='50' "
                           "hostname='tbd' time='1'><testcase name='a'/></testsuite></testsuites>",
                           "<testsuites><testsuite name='bin' errors='0' failures='0' tests='50'><testcase "
                           "classname='a.cc' name='a' status='run'/></testsuite></testsuites>",
                           "<testsuites name='pytest tests'><testsuite name='pytest' errors='0' failures='0' "
                           "skipped='0' tests='4' time='0.1'><testcase name='a'/></testsuite></testsuites>",
                           "<testsuite tests='0'><testcase name='a'/></testsuite>"})
    EXPECT_TRUE(report_of("junit", text)) << text << ": " << told_by("junit", text);
}

TEST(Readers, AStatusThatNobodyKnowsIsAFailure) {
  EXPECT_EQ(told_by("junit", "<testsuite><testcase name='a' status='exploded'/></testsuite>"), "-a");
  EXPECT_EQ(
      told_by(
          "jest",
          R"({"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"t","status":"exploded"}]}]})"),
      "-a::t");
  EXPECT_EQ(told_by("ctest", "<Site><Testing><Test Status='exploded'><Name>a</Name></Test></Testing></Site>"),
            "-a");
  EXPECT_NE(told_by("cargo",
                    "running 1 test\ntest a ... exploded\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n")
                .find("totals"),
            std::string::npos);
}

constexpr const char* kJest =
    R"({"numFailedTestSuites":3,"numFailedTests":1,"numPassedTests":2,"numRuntimeErrorTestSuites":2,"numTotalTests":3,"success":false,"testResults":[
{"assertionResults":[{"ancestorTitles":["d"],"failureMessages":[],"status":"passed","title":"ok"},{"ancestorTitles":["d"],"failureMessages":["Error: \u001b[2mexpect(\u001b[22mreceived).toBe(expected)\n\nExpected: 2\nReceived: 1\n    at a.test.js:1:75"],"status":"failed","title":"bad"}],"message":"m","name":"/workspace/a.test.js","status":"failed"},
{"assertionResults":[{"ancestorTitles":["h"],"failureMessages":[],"status":"passed","title":"c ok"}],"message":"after broke","name":"/workspace/c.test.js","status":"failed"},
{"assertionResults":[{"ancestorTitles":[],"failureMessages":["m"],"status":"error"}],"message":"Cannot find module './nope'","name":"/workspace/b.test.js","status":"failed"}],"wasInterrupted":false})";

TEST(Readers, OfJestFilesAndHooksAreNoTests) {
  EXPECT_EQ(told_by("jest", kJest),
            "+a.test.js::d > ok | -a.test.js::d > bad | +c.test.js::h > c ok | !c.test.js | !b.test.js");
  EXPECT_EQ(message_in("jest", kJest),
            "Error: expect(received).toBe(expected)\n\nExpected: 2\nReceived: 1\n    at a.test.js:1:75");
  EXPECT_EQ(bound_of("jest", kJest), "c.test.js failed");
}

TEST(Readers, JestTotalsAreHeldAgainstTheTests) {
  const auto with = [](const std::string& totals) {
    return told_by(
        "jest",
        "{" + totals +
            R"("testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]})");
  };
  EXPECT_EQ(with(R"("numTotalTests":1,"numFailedTests":0,"success":true,"wasInterrupted":false,)"), "+a::t");
  for (const auto* wrong :
       {R"("numFailedTests":2,)", R"("numTotalTests":3,)", R"("numRuntimeErrorTestSuites":1,)",
        R"("numFailedTestSuites":1,)", R"("wasInterrupted":true,)", R"("numPassedTests":3,)",
        R"("numPendingTests":1,)", R"("numTodoTests":1,)"})
    EXPECT_TRUE(with(wrong).starts_with("not a good jest report")) << with(wrong);
  EXPECT_EQ(with(R"("success":false,)"), "+a::t | !the run") << "a threshold, or a snapshot";
}

constexpr const char* kMocha =
    R"json({"stats":{"suites":3,"tests":3,"passes":1,"pending":1,"failures":2},"tests":[],
"pending":[{"fullTitle":"d sk","file":"/workspace/m.cjs","err":{}}],
"failures":[{"fullTitle":"d bad","file":"/workspace/m.cjs","err":{"stack":"AssertionError: 1 == 2\n    at Context.<anonymous> (m.cjs:2:68)","message":"1 == 2"}},
{"fullTitle":"h \"before all\" hook for \"x\"","file":"/workspace/m.cjs","err":{"message":"before broke"}}],
"passes":[{"fullTitle":"d ok","file":"/workspace/m.cjs","err":{}}]})json";

TEST(Readers, OfMochaHooksAreNoTestsAndTotalsAreHeld) {
  EXPECT_EQ(told_by("mocha", kMocha),
            "~m.cjs::d sk | -m.cjs::d bad | +m.cjs::d ok | !m.cjs::h \"before all\" hook for \"x\"");
  EXPECT_EQ(message_in("mocha", kMocha), "AssertionError: 1 == 2\n    at Context.<anonymous> (m.cjs:2:68)");
  EXPECT_EQ(bound_of("mocha", kMocha), "m.cjs::h \"before all\" hook for \"x\" failed");
  for (const auto* stats : {R"("passes":3)", R"("failures":1)", R"("pending":1)", R"("tests":3)"})
    EXPECT_TRUE(told_by("mocha", std::string("{\"stats\":{") + stats +
                                     "},\"passes\":[{\"fullTitle\":\"a\"}],\"pending\":[],\"failures\":[]}")
                    .starts_with("not a good mocha report: stats."))
        << stats;
}

constexpr const char* kGo =
    R"({"ImportPath":"m/bad [m/bad.test]","Action":"build-output","Output":"# m/bad [m/bad.test]\n"}
{"ImportPath":"m/bad [m/bad.test]","Action":"build-output","Output":"bad/a_test.go:3:27: undefined: undefinedThing\n"}
{"ImportPath":"m/bad [m/bad.test]","Action":"build-fail"}
{"Action":"start","Package":"m/bad"}
{"Action":"output","Package":"m/bad","Output":"FAIL\tm/bad [build failed]\n"}
{"Action":"fail","Package":"m/bad","Elapsed":0,"FailedBuild":"m/bad [m/bad.test]"}
{"Action":"start","Package":"m/ok"}
{"Action":"run","Package":"m/ok","Test":"TestSum"}
{"Action":"output","Package":"m/ok","Test":"TestSum","Output":"=== RUN   TestSum\n"}
{"Action":"output","Package":"m/ok","Test":"TestSum","Output":"    a_test.go:3: Sum = 6, want 5\n"}
{"Action":"output","Package":"m/ok","Test":"TestSum","Output":"--- FAIL: TestSum (0.00s)\n"}
{"Action":"fail","Package":"m/ok","Test":"TestSum","Elapsed":0}
{"Action":"fail","Package":"m/ok","Elapsed":0.008}
{"Action":"run","Package":"m/pan","Test":"TestP"}
{"Action":"output","Package":"m/pan","Test":"TestP","Output":"panic: boom [recovered, repanicked]\n"}
{"Action":"fail","Package":"m/pan","Test":"TestP","Elapsed":0}
{"Action":"fail","Package":"m/pan","Elapsed":0.008}
)";

TEST(Readers, OfGoPackagesAreNoTests) {
  EXPECT_EQ(told_by("gotest", kGo), "-m/ok::TestSum | -m/pan::TestP | !m/bad");
  EXPECT_EQ(message_in("gotest", kGo), "    a_test.go:3: Sum = 6, want 5");
  const auto report = report_of("gotest", kGo);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->no_tests.size(), 1U) << "of a package that is well its tests are told";
  EXPECT_EQ(report->no_tests[0].message,
            "# m/bad [m/bad.test]\nbad/a_test.go:3:27: undefined: undefinedThing");
  EXPECT_NE(bound_of("gotest", kGo), "");
  EXPECT_NE(bound_of("gotest", R"({"Action":"run","Package":"m","Test":"T"})"), "") << "it did not end";
  // Before Go 1.24 the build prints its errors between the events.
  EXPECT_EQ(message_in("gotest",
                       "# m/c [m/c.test]\n./a_test.go:5:2: undefined: X\n"
                       R"({"Action":"fail","Package":"m/c"})"),
            "# m/c [m/c.test]\n./a_test.go:5:2: undefined: X");
}

constexpr const char* kCargoFailed =
    R"(     Running unittests src/lib.rs (target/debug/deps/a-de22c1bda0609b20)

running 3 tests
test good ... ok
test sp - should panic ... FAILED
test bad ... FAILED

failures:

---- sp stdout ----
note: test did not panic as expected at src/lib.rs:7:28
---- bad stdout ----
some out

thread 'bad' (2243) panicked at src/lib.rs:5:42:
assertion `left == right` failed: not two
  left: 1
 right: 2
stack backtrace:
   0: __rustc::rust_begin_unwind

failures:
    bad
    sp

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.40s

error: test failed, to rerun pass `--lib`
)";

TEST(Readers, OfCargoEachTestHasItsWords) {
  const auto report = report_of("cargo", kCargoFailed);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->tests.size(), 3U);
  EXPECT_EQ(report->tests[1].message, "note: test did not panic as expected at src/lib.rs:7:28");
  EXPECT_NE(report->tests[2].message.find("assertion `left == right` failed: not two\n  left: 1"),
            std::string::npos)
      << report->tests[2].message;
  EXPECT_EQ(report->tests[2].message.find("rust_begin_unwind"), std::string::npos);
  EXPECT_NE(report->lower_bound, "") << "cargo runs no program behind one that failed";
}

TEST(Readers, OfCargoACompilersErrorIsTold) {
  const std::string error =
      "   Compiling a v0.1.0 (/workspace)\nerror[E0432]: unresolved import `nope`\n --> tests/t.rs:1:5\n  |\n"
      "error: could not compile `a` (test \"t\") due to 1 previous error\n";
  EXPECT_NE(told_by("cargo", error).find("error[E0432]: unresolved import `nope`"), std::string::npos);
  const std::string before =
      "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n";
  EXPECT_EQ(told_by("cargo", before + error), "+a | !the build");
  EXPECT_NE(message_in("cargo", before + error).find("E0432"), std::string::npos);
}

TEST(Readers, OfCtestTheListIsHeldAgainstTheResults) {
  const auto site = [](const std::string& tests) {
    return "<Site><Testing><TestList><Test>./a</Test><Test>./b</Test></TestList>" + tests +
           "</Testing></Site>";
  };
  const std::string passed = "<Test Status='passed'><Name>a</Name></Test>",
                    failed =
                        "<Test Status='failed'><Name>a</Name><Results><NamedMeasurement name='Exit "
                        "Value'><Value>1</Value></NamedMeasurement><Measurement><Value>a.c:3: error: want "
                        "5\n</Value></Measurement></Results></Test>";
  EXPECT_TRUE(told_by("ctest", site(passed)).find("2 tests are in its list, and 1") != std::string::npos);
  EXPECT_EQ(told_by("ctest", site(failed)), "-a");
  EXPECT_EQ(message_in("ctest", site(failed)), "a.c:3: error: want 5");
  EXPECT_NE(bound_of("ctest", site(failed)), "");
  const std::string compressed =
      "<Test Status='failed'><Name>a</Name><Results><Measurement><Value encoding='base64' "
      "compression='gzip'>eJzTy"
      "</Value></Measurement></Results></Test>";
  EXPECT_NE(message_in("ctest", site(compressed)).find("--no-compress-output"), std::string::npos);
}

// CTest compresses the output, unless --no-compress-output is said.
TEST(Readers, OfCtestTheCompressedOutputOfAFailedTestIsRead) {
  const auto message = [](const std::string& attributes, const std::string& text) {
    return message_in(
        "ctest",
        "<Site><Testing><TestList><Test>./a</Test></TestList><Test Status='failed'><Name>a</Name>"
        "<Results><Measurement><Value " +
            attributes + ">\n" + text + "\n</Value></Measurement></Results></Test></Testing></Site>");
  };
  const std::string zlib = "encoding='base64' compression='gzip'";
  EXPECT_EQ(message(zlib, "eJxLzkhNzlZIS8zMSU2xUjBUULRVMOICAE1YBek="), "check failed: 1 != 2");
  EXPECT_EQ(message("encoding='base64'", "cGxhaW4gd29yZHM6IDMgIT0gNA=="), "plain words: 3 != 4");
  const std::pair<std::string, std::string> unreadable[] = {
      {zlib, "eJxLzkhNzlZI"},                  // cut short
      {zlib, "cGxhaW4gd29yZHM6IDMgIT0gNA=="},  // not compressed
      {zlib, "no base64 at all"},
      {"encoding='uuencode'", "x"},
      {zlib, std::string(600 << 10, 'A')}};
  for (const auto& [attributes, text] : unreadable)
    EXPECT_NE(message(attributes, text).find("--no-compress-output"), std::string::npos)
        << text.substr(0, 40);
}

constexpr const char* kTape = R"(TAP version 13
# strings
ok 1 should be deeply equivalent
# nums
ok 2 should be strictly equal
not ok 3 should be deeply equivalent
  ---
    operator: deepEqual
    expected: 255
    actual:   '0xff'
    at: Test.<anonymous> (/workspace/test/num.js:16:4)
  ...
# took 12 ms
ok 4 should be truthy

1..4
# tests 4
# pass  3
# fail  1
)";

TEST(Readers, OfTapeACommentNamesTheAssertionsThatFollow) {
  EXPECT_EQ(
      told_by("tap", kTape),
      "+strings::should be deeply equivalent | +nums::should be strictly equal | -nums::should be deeply "
      "equivalent | +nums::should be truthy");
  EXPECT_EQ(message_in("tap", kTape),
            "operator: deepEqual\nexpected: 255\nactual:   '0xff'\nat: Test.<anonymous> "
            "(/workspace/test/num.js:16:4)");
}

TEST(Readers, CommentsThatAreDiagnosticsNameNothing) {
  // The comments of Perl, and of C libraries, explain the test before them.
  const std::string perl = "not ok 1 - a\n#   Failed test 'a'\n#   at a.t line 5.\nok 2 - b\n1..2\n";
  EXPECT_EQ(told_by("tap", perl), "-a | +b");
  EXPECT_EQ(message_in("tap", perl), "Failed test 'a'\nat a.t line 5.");
  EXPECT_EQ(told_by("tap", "TAP version 13\n1..2\nnot ok 1 - a\n# a.c:5: error: Failure!\nok 2 - b\n"),
            "-a | +b");
  EXPECT_EQ(told_by("tap", "1..2\nok 1 a\n# (in test file a.bats, line 3)\nok 2 b\n"), "+a | +b") << "bats";
  EXPECT_EQ(
      told_by("tap",
              "TAP version 13\n# printed\n# Subtest: a\nok 1 - a\n# printed\n# Subtest: b\nok 2 - b\n1..2\n"),
      "+a | +b")
      << "node";
}

TEST(Readers, OfNodeAFileThatDidNotLoadIsNoTest) {
  const auto file = [](const std::string& printed) {
    return "TAP version 13\n# Subtest: ok\nok 1 - ok\n" + printed +
           "# Subtest: /workspace/load.test.mjs\nnot ok 2 - /workspace/load.test.mjs\n  ---\n  duration_ms: "
           "3.1\n  error: 'test failed'\n"
           "  exitCode: 1\n  ...\n1..2\n# fail 1\n";
  };
  const std::string unloaded = "# Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/workspace/nope.mjs'\n";
  EXPECT_EQ(told_by("tap", file(unloaded)), "+ok | !load.test.mjs");
  EXPECT_EQ(bound_of("tap", file(unloaded)), "load.test.mjs could not be loaded");
  EXPECT_EQ(told_by("tap", file("# AssertionError: 1 == 2\n")), "+ok | -/workspace/load.test.mjs")
      << "a file without tests of node's own is a test";
}

TEST(Readers, OfMochasTapHooksAreNoTests) {
  const std::string text =
      "ok 1 d ok\nnot ok 2 d bad\n  1 == 2\n      at m.cjs:2\nnot ok 3 h \"before all\" hook for \"x\"\n"
      "  before broke\n# tests 3\n# pass 1\n# fail 2\n1..3\n";
  EXPECT_EQ(told_by("tap", text), "+d ok | -d bad | !h \"before all\" hook for \"x\"");
  EXPECT_EQ(message_in("tap", text), "1 == 2\nat m.cjs:2");
}

TEST(Readers, WhatTapSaysLastIsHeldAgainstTheTests) {
  EXPECT_NE(told_by("tap", "TAP version 13\nok 1 a\n1..1\n# tests 1\n# fail  2\n").find("says that 2 failed"),
            std::string::npos);
  EXPECT_EQ(told_by("tap", "TAP version 13\n# a\nok 1 a\n1..1\n# fail  0\n"), "+a::a");
  for (const auto* said : {"# tests 5\n", "# pass  5\n", "# tests 1\n# pass 2\n"})
    EXPECT_NE(told_by("tap", std::string("TAP version 13\nok 1 a\n1..1\n") + said).find("it says that"),
              std::string::npos)
        << said;
  EXPECT_EQ(
      told_by("tap",
              "# Subtest: s\n    ok 1 - a\n    1..1\nok 1 - s\n1..1\n# tests 1\n# suites 1\n# pass 1\n"),
      "+s::a | +s");
  EXPECT_EQ(told_by("tap", "TAP version 13\n# tests 9\nok 1 a\n1..1\n"), "+tests 9::a") << "a name";
}

}  // namespace
}  // namespace pawl::gates
