// Reports whose texts would take much more memory than the report has bytes, or that do so together.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gates/policy/npm.h"
#include "gates/policy/steering.h"
#include "gates/reading/json_items.h"
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kTooManyNames[] = "names of more bytes than the limit",
               kTooManyTexts[] = "texts of more bytes than the limit";

std::string tap_with_subtests(int tests, std::size_t parent) {
  std::string out;
  for (int i = 0; i < tests; ++i) out += "    ok 1\n";
  return out + fmt::format("    1..{}\nok 1 - {}\n1..1\n", tests, std::string(parent, 'p'));
}

TEST(Bounds, OfTapALongParentsNameCountsForEachSubtest) {
  EXPECT_THAT(told_by("tap", tap_with_subtests(100'000, 1900)), HasSubstr(kTooManyTexts));
  EXPECT_TRUE(report_of("tap", tap_with_subtests(100'000, 200)));
  std::string of_heading = "TAP version 13\n# " + std::string(1000, 'h') + "\n";
  for (int i = 1; i <= 100'000; ++i) of_heading += fmt::format("ok {0} {0}\n", i);
  EXPECT_THAT(told_by("tap", of_heading + "1..100000\n"), HasSubstr(kTooManyTexts));
}

TEST(Bounds, NamesOfSuitesAndHooksCount) {
  std::string suites = "<testsuites>", failed = suites;
  for (int i = 0; i < 40'000; ++i) {
    const std::string name = fmt::format("{}{}", std::string(1000, 's'), i);
    suites += "<testsuite name='" + name + "'><testcase classname='test' name='a'/></testsuite>";
    failed += "<testsuite name='" + name + "'><error/></testsuite>";
  }
  EXPECT_THAT(told_by("junit", suites + "</testsuites>"), HasSubstr(kTooManyNames));
  EXPECT_THAT(told_by("junit", failed + "</testsuites>"), HasSubstr(kTooManyNames));
}

Report report_with(int tests, std::size_t name, std::size_t message) {
  Report out;
  for (int i = 0; i < tests; ++i)
    out.tests.push_back({.name = std::string(name, 'n'), .message = std::string(message, 'm')});
  return out;
}

TEST(Bounds, HoldForAllReportsOfAStepTogether) {
  ReportSizes sizes;
  Report one = report_with(10'000, 1000, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(add_sizes(one, sizes));
  const auto status = add_sizes(one, sizes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kExhausted);
  EXPECT_THAT(status.error().message, HasSubstr("the reports of the step have names of more than"));
  Report suites;
  suites.suites.assign(100'000, "s");
  ReportSizes many;
  EXPECT_TRUE(add_sizes(suites, many));
  EXPECT_TRUE(add_sizes(suites, many));
  EXPECT_FALSE(add_sizes(suites, many)) << "suites are items";
}

TEST(Bounds, MessagesOfTheLastReportsAreLeftOut) {
  ReportSizes sizes;
  Report first = report_with(7'000, 1, 512), second = first;
  EXPECT_TRUE(add_sizes(first, sizes));
  EXPECT_TRUE(add_sizes(second, sizes));
  EXPECT_NE(first.tests.back().message, "");
  EXPECT_NE(second.tests.front().message, "");
  EXPECT_EQ(second.tests.back().message, "");
  EXPECT_LE(sizes.messages_bytes, kReportMessagesBytesMax);
}

TEST(Bounds, PathsOfJsonAreCountedAndNotListed) {
  std::string text = R"({"runs": [{"results": []})";
  for (int i = 1; i < 100'000; ++i) text += R"(,{"results": []})";
  MemorySource source(text + "]}");
  const auto found =
      for_each_json_item(source, {"runs.results"}, [](std::string_view, const Json&) { return Status(); });
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, UnorderedElementsAre(Pair("runs", 1), Pair("runs.results", 100'000)));
  EXPECT_THAT(told_by("mocha", R"({"passes": [], "passes": [], "pending": []})"),
              HasSubstr("are not all in it, once"));
}

// A reader whose time grows with the square of a value's members takes minutes for each of these.
TEST(Bounds, ManyMembersTakeTimeInProportion) {
  constexpr int kMany = 300'000;
  std::string members = "\"0\":{}", elements = "{}";
  for (int i = 1; i < kMany; ++i) {
    members += fmt::format(",\"{:x}\":{{}}", i);
    elements += ",{}";
  }
  for (const auto& properties : {"{" + members + "}", "[" + elements + "]"}) {
    const auto report =
        report_of("sarif", R"({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": [)"
                           R"({"ruleId": "r", "level": "note", "message": {"text": "m"}, "properties": )" +
                               properties + "}]}]}");
    EXPECT_TRUE(report) << report.error().message;
  }
  std::string packages = "\"0\":{}";
  for (int i = 1; i < kMany / 3; ++i) packages += fmt::format(",\"{:x}\":{{}}", i);
  const std::string lock = R"({"name": "x", "lockfileVersion": 3, "packages": {)" + packages + "}}";
  EXPECT_TRUE(
      npm_findings({.path = "package-lock.json",
                    .after = FileVersion{.size = static_cast<std::int64_t>(lock.size()), .content = lock}})
          .empty());
}

// The words of a setting are an agent's.
TEST(Bounds, ManyWordsOfACommandTakeTimeInProportion) {
  std::string command = "pytest";
  for (int i = 0; i < 1'000'000; ++i) command += fmt::format(" w{} -q", i);
  EXPECT_EQ(steering_in(command), std::set<std::string>());
  EXPECT_EQ(steering_in(command + " -k one"), std::set<std::string>{"-k one"});
}

TEST(Bounds, TextsThatAReaderStoresCount) {
  std::string arguments = "\"\"";
  for (int i = 1; i < 100'000; ++i) arguments += ",\"\"";
  std::string results;
  for (int i = 0; i < 30; ++i)
    results +=
        std::string(i == 0 ? "" : ",") + R"({"message": {"id": "i", "arguments": [)" + arguments + "]}}";
  EXPECT_THAT(found("sarif", R"({"runs": [{"results": [)" + results + "]}]}"), HasSubstr(kTooManyTexts));
  std::string affects = R"({"ref": "a"})";
  for (int i = 1; i < 2'000; ++i) affects += R"(,{"ref": "a"})";
  EXPECT_THAT(found("cyclonedx", R"({"vulnerabilities": [{"id": ")" + std::string(100'000, 'i') +
                                     R"(", "affects": [)" + affects + "]}]}"),
              HasSubstr(kTooManyTexts));
}

TEST(Bounds, NamesOfPackagesBuildsAndOpenTestsOfGoCountAsTheyArrive) {
  const auto told = [](int events, const auto& event) {
    std::string report;
    for (int i = 0; i < events; ++i) report += event(std::string(600, 'x') + std::to_string(i)) + "\n";
    return told_by("gotest", report);
  };
  EXPECT_THAT(
      told(110'000, [](const auto& name) { return R"({"Action":"start","Package":")" + name + "\"}"; }),
      HasSubstr(kTooManyTexts));
  EXPECT_THAT(
      told(110'000,
           [](const auto& name) { return R"({"Action":"run","Package":"p","Test":")" + name + "\"}"; }),
      HasSubstr(kTooManyTexts));
  const std::string half_mib(1 << 19, 'b');
  EXPECT_THAT(told(150,
                   [&](const auto& name) {
                     return R"({"Action":"build-output","Output":"o","ImportPath":")" + half_mib + name +
                            "\"}";
                   }),
              HasSubstr(kTooManyTexts));
  EXPECT_THAT(told(150,
                   [&](const auto& name) {
                     return R"({"Action":"fail","Package":")" + name + R"(","FailedBuild":")" + half_mib +
                            "\"}";
                   }),
              HasSubstr(kTooManyTexts));
}

TEST(Bounds, TestsOfGoThatEndedCountNoMore) {
  std::string report;
  for (int i = 0; i < 60'000; ++i)
    for (const char* action : {"run", "pass"})
      report +=
          fmt::format(R"({{"Action":"{}","Package":"p","Test":"{}{}"}})", action, std::string(480, 'x'), i) +
          "\n";
  const auto read = report_of("gotest", report + R"({"Action":"pass","Package":"p"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tests.size(), 60'000U);
}

}  // namespace
}  // namespace pawl::gates
