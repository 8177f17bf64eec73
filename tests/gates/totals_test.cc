// Totals of a report that its tests contradict, and totals as runners really count.
#include <gmock/gmock.h>

#include "gates/told_by.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;

std::string suite_with(const std::string& attributes, const std::string& cases) {
  return "<testsuite " + attributes + ">" + cases + "</testsuite>";
}

const std::string kThreeCases = "<testcase name='a'/><testcase name='b'/><testcase name='c'/>";
const std::string kSkippedCase = "<testcase name='s'><skipped/></testcase>";

TEST(Totals, OfJunitSkippedTestsAreNotThoseThatRan) {
  for (const std::string attributes :
       {"tests='3' skipped='3'", "tests='3' skipped='1'", "tests='3' disabled='2'", "tests='4' skipped='2'",
        "skipped='1'", "name='pytest' tests='3' skipped='2'",
        "name='pytest' tests='9' errors='0' failures='0' skipped='2' time='1'"}) {
    EXPECT_THAT(told_by("junit", suite_with(attributes, kThreeCases)), HasSubstr("did not run"))
        << attributes;
    EXPECT_THAT(told_by("junit", "<testsuites>" + suite_with(attributes, kThreeCases) + "</testsuites>"),
                HasSubstr("did not run"))
        << attributes;
  }
  EXPECT_THAT(told_by("junit", "<testsuites tests='3' skipped='2'>" + suite_with("name='x'", kThreeCases) +
                                   "</testsuites>"),
              HasSubstr("says that 2 did not run"))
      << "the sum of the root";
}

// The totals of Surefire, Gradle, CTest, gtest, Mocha's reporters, pytest, Boost.Test, node --test.
TEST(Totals, OfJunitAreTakenAsRunnersCount) {
  const std::string with_one = kThreeCases + kSkippedCase;
  for (const auto& text : std::vector<std::string>{
           suite_with("tests='4' skipped='1'", with_one),
           suite_with("tests='3' skipped='0' disabled='0'", kThreeCases),
           suite_with("tests='5' skipped='2'", with_one),  // Mocha counts pending tests without a case
           suite_with("tests='3' skipped='1'", with_one),  // Boost.Test counts no skipped test among `tests`
           suite_with("tests='4' disabled='1' skipped='0'",
                      kThreeCases + "<testcase name='d' status='disabled'/>"),
           suite_with("tests='1' disabled='1'",
                      "<testcase name='DISA"
                      "BLED_Adds' status='run' result='completed'/>"),
           suite_with("tests='1' disabled='1'",
                      "<testcase name='Adds/0' classname='I/DISA"
                      "BLED_Calc' status='run'/>"),
           suite_with("tests='1' ignored='1'", "<testcase name='i'><ignored/></testcase>"),
           suite_with("name='pytest' errors='0' failures='0' skipped='2' tests='4' time='1'",
                      "<testcase name='t'><skipped/><skipped/></testcase>"),  // two subtests of one test
           suite_with("name='pytest' errors='0' failures='0' skipped='0' tests='4' time='1'",
                      "<testcase name='t'/>"),
           "<testsuites name='pytest tests'>" +
               suite_with("name='mine' errors='0' failures='0' skipped='0' tests='4' time='1'",
                          "<testcase name='t'/>") +
               "</testsuites>",
           "<testsuites name='Mocha Tests' tests='5' failures='0' skipped='2'>" +
               suite_with("name='d' tests='5'", kThreeCases) + "</testsuites>",
           suite_with("hostname='tbd' tests='9' skipped='2'", kThreeCases),  // Catch2 counts assertions
       })
    EXPECT_TRUE(report_of("junit", text)) << text << ": " << told_by("junit", text);
  EXPECT_EQ(told_by("junit", suite_with("tests='2' failures='1' skipped='1'",
                                        "<testcase name='a'/><testcase name='b'><failure/></testcase>")),
            "+a | -b")
      << "node --test counts a failed suite as skipped, and a failure needs no totals";
}

TEST(Totals, OfJunitASuiteIsNotPytestsByItsNameAlone) {
  EXPECT_THAT(told_by("junit", suite_with("name='pytest' tests='5'", kThreeCases)),
              HasSubstr("says that it has 5 tests"));
  EXPECT_THAT(told_by("junit", "<testsuites name='pytest tests' tests='5'>" + suite_with("", kThreeCases) +
                                   "</testsuites>"),
              HasSubstr("says that it has 5 tests"));
}

TEST(Totals, OfJunitAreNumbers) {
  for (const std::string key : {"tests", "failures", "errors"}) {
    for (const std::string value : {"two", "-1", "undefined"})
      EXPECT_THAT(told_by("junit", suite_with(key + "='" + value + "'", kThreeCases)),
                  HasSubstr("the total `" + key + "` of a suite is not a number"))
          << value;
    const std::string good = key == "tests" ? "3" : "0";
    for (const auto& value : {good, good + ".0", " " + good, "+" + good})
      EXPECT_EQ(told_by("junit", suite_with(key + "='" + value + "'", kThreeCases)), "+a | +b | +c") << value;
    EXPECT_EQ(told_by("junit", suite_with(key + "='' skipped='false'", kThreeCases)), "+a | +b | +c");
  }
}

// node --test gives a file without tests of its own the number of the file, which a test has, too.
TEST(Totals, OfTapNumbersMayBeRepeated) {
  EXPECT_EQ(
      told_by("tap",
              "TAP version 13\n# Subtest: a\nok 1 - a\n# Subtest: b\nok 2 - b\n# Subtest: /w/d.test.js\n"
              "ok 2 - /w/d.test.js\n1..3\n"),
      "+a | +b | +/w/d.test.js");
}

TEST(Totals, OfTapSkippedCancelledAndTodoTestsAreCounted) {
  const std::string well = "TAP version 13\nok 1 a\nok 2 b\n1..2\n";
  for (const std::string said :
       {"# skip 2", "# skip  1", "# skipped 2", "# skip: 1", "# todo 1", "# todo: 2", "# skipped 1\n# todo 1",
        "# tests 2\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 1"})
    EXPECT_THAT(told_by("tap", well + said + "\n"), HasSubstr("were skipped or are to do")) << said;
  for (const std::string said : {"# cancelled 2", "# fail 0\n# cancelled 1"})
    EXPECT_THAT(told_by("tap", well + said + "\n"), HasSubstr("failed, and none did")) << said;
  const std::string some = "TAP version 13\nok 1 a\nok 2 b # SKIP\nok 3 c # TODO\n1..3\n";
  for (const std::string said : {"# skip 1\n# todo 1", "# skipped 1\n# cancelled 0", "# skip: 1", "# skip 2",
                                 "# skips 9", "# skip 9 of 10"})
    EXPECT_EQ(told_by("tap", some + said + "\n"), "+a | ~b | ~c") << said;
  EXPECT_EQ(told_by("tap", "TAP version 13\nok 1 a\nnot ok 2 b\n1..2\n# cancelled 1\n# skipped 3\n"),
            "+a | -b")
      << "a failure needs no totals";
  EXPECT_EQ(told_by("tap", "TAP version 13\n# skip 2\nok 1 a\n1..1\n"), "+skip 2::a") << "a name";
}

}  // namespace
}  // namespace pawl::gates
