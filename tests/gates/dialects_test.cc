// The words that runners differ in: statuses, benchmarks, durations, references.
#include <array>
#include <vector>

#include "base/json.h"
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

TEST(Dialects, OfJunitAnElementSaysWhatAnUnknownStatusMeans) {
  const auto told = [](const std::string& attributes, const std::string& elements) {
    return told_by("junit", "<testsuite name='s' tests='1' failures='0'><testcase name='a' " + attributes +
                                ">" + elements + "</testcase></testsuite>");
  };
  for (const auto* word :
       {"untested", "undefined", "blocked", "Omitted", "not run", "deselected", "\u00fcbersprungen"})
    for (const auto* key : {"status", "result"}) {
      const auto status = std::string(key) + "='" + word + "'";
      SCOPED_TRACE(status);
      for (const auto* skipped :
           {"<skipped/>", "<skipped message='m'>why</skipped>", "<skip/>", "<ignored/>", "<disabled/>"})
        EXPECT_EQ(told(status, skipped), "~a");
      EXPECT_EQ(told(status, "<skipped/><failure/>"), "-a");
      EXPECT_EQ(told(status, "<error/><skipped/>"), "-a");
      EXPECT_EQ(message_in("junit", "<testsuite><testcase name='a' " + status +
                                        "><skipped/><failure message='m'/></testcase></testsuite>"),
                "m");
    }
  EXPECT_EQ(told("status='untested'", ""), "~a");
  for (const auto* word : {"failed", "FAIL", "error", "Broken", "timedout"})
    EXPECT_EQ(told(std::string("status='") + word + "'", "<skipped/>"), "-a")
        << "a word that everybody knows";
  EXPECT_EQ(told_by("junit",
                    "<testsuite tests='2' failures='1'><testcase name='a' status='x'><skipped/></testcase>"
                    "<testcase name='b'/></testsuite>")
                    .find("says that 1 failed") != std::string::npos,
            true)
      << "a test that was skipped is no failure of a suite's total";
}

// Of go test -json: action, test, output.
std::string go_events(const std::vector<std::array<std::string, 3>>& events) {
  std::string out;
  for (const auto& [action, test, output] : events) {
    Json event = {{"Action", action}, {"Package", "m"}};
    if (!test.empty()) event["Test"] = test;
    if (!output.empty()) event["Output"] = output + "\n";
    out += event.dump() + "\n";
  }
  return out;
}

// Go 1.20 and later say that a benchmark began, and no event says that it ended.
std::string go_benchmarks(const std::vector<std::array<std::string, 3>>& last) {
  std::vector<std::array<std::string, 3>> events = {
      {"start", "", ""},
      {"run", "TestT", ""},
      {"pass", "TestT", ""},
      {"output", "", "cpu: x"},
      {"run", "BenchmarkA", ""},
      {"output", "BenchmarkA", "=== RUN   BenchmarkA"},
      {"output", "BenchmarkA", "BenchmarkA"},
      {"output", "BenchmarkA", "BenchmarkA-2 \t 7 \t 1.5 ns/op"},
      {"run", "BenchmarkSubs", ""},
      {"output", "BenchmarkSubs", "BenchmarkSubs"},
      {"run", "BenchmarkSubs/one-2", ""},
      {"output", "BenchmarkSubs/one-2",
       "BenchmarkSubs/one-2-2 \t 7 \t 1.5 widgets"}};  // as ReportMetric() has it
  events.insert(events.end(), last.begin(), last.end());
  return go_events(events);
}

TEST(Dialects, OfGoABenchmarkHasNoEventOfItsEnd) {
  const auto passed = go_benchmarks({{"output", "", "PASS"}, {"pass", "", ""}});
  const std::string all = "+m::TestT | +m::BenchmarkA | +m::BenchmarkSubs | +m::BenchmarkSubs/one-2";
  EXPECT_EQ(told_by("gotest", passed), all);
  EXPECT_EQ(bound_of("gotest", passed), "");
  EXPECT_EQ(told_by("gotest", go_benchmarks({{"bench", "BenchmarkA-2", ""}, {"pass", "", ""}})), all);
  EXPECT_EQ(told_by("gotest", go_events({{"run", "TestT", ""}, {"output", "", "PASS"}, {"pass", "", ""}})),
            "-m::TestT")
      << "a test has one: it called syscall.Exit(0)";
}

TEST(Dialects, OfGoABenchmarkThatFailsIsTheOneThatBegan) {
  const auto failed = go_benchmarks({{"run", "BenchmarkF", ""},
                                     {"output", "BenchmarkF-2", "--- FAIL: BenchmarkF-2"},
                                     {"output", "BenchmarkF-2", "    b_test.go:9: with two"},
                                     {"fail", "BenchmarkF-2", ""},
                                     {"run", "BenchmarkG", ""},
                                     {"output", "BenchmarkG", "--- FAIL: BenchmarkG"},
                                     {"fail", "BenchmarkG", ""},
                                     {"run", "BenchmarkH", ""},
                                     {"output", "BenchmarkH", "--- SKIP: BenchmarkH"},
                                     {"skip", "BenchmarkH", ""},
                                     {"output", "", "FAIL"},
                                     {"output", "", "exit status 1"},
                                     {"fail", "", ""}});
  EXPECT_EQ(
      told_by("gotest", failed),
      "+m::TestT | -m::BenchmarkG | ~m::BenchmarkH | +m::BenchmarkA | -m::BenchmarkF | +m::BenchmarkSubs | "
      "+m::BenchmarkSubs/one-2");
  EXPECT_EQ(bound_of("gotest", failed), "");
  // Before Go 1.20, and with -cpu 1,2, it may pass and then fail.
  const auto again = go_events({{"run", "BenchmarkA", ""},
                                {"output", "BenchmarkA", "BenchmarkA \t 7 \t 1 ns/op"},
                                {"output", "BenchmarkA-2", "--- FAIL: BenchmarkA-2"},
                                {"output", "BenchmarkA-2", "--- BENCH: BenchmarkA-2"},
                                {"fail", "BenchmarkA-2", ""},
                                {"output", "", "FAIL"},
                                {"fail", "", ""}});
  EXPECT_EQ(told_by("gotest", again), "-m::BenchmarkA");
}

TEST(Dialects, OfGoABenchmarkThatPanicsDidNotEnd) {
  const auto panicked = go_benchmarks({{"run", "BenchmarkP", ""},
                                       {"output", "BenchmarkP", "panic: boom"},
                                       {"output", "", "FAIL\tm\t0.01s"},
                                       {"fail", "", ""}});
  EXPECT_EQ(told_by("gotest", panicked),
            "+m::TestT | +m::BenchmarkA | -m::BenchmarkP | -m::BenchmarkSubs | +m::BenchmarkSubs/one-2");
  EXPECT_NE(bound_of("gotest", panicked), "");
}

}  // namespace
}  // namespace pawl::gates
