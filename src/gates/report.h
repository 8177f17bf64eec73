// What a test runner, an analyser or a scanner reports, read out of the file that it wrote. The bytes come
// from a sandbox: each reader streams them, in the memory of what it finds, and stops at the bounds below.
//
// A format is one file in formats/FAMILY/ of the format's name; that file is all there is to add for another.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "secrets/redact.h"

namespace pawl::gates {

constexpr std::uint64_t kReportBytesMax = 128ULL << 20;
constexpr std::int64_t kReportItemsMax = 200'000;  // tests, or findings; also of all reports of a step
constexpr std::uint64_t kReportNamesBytesMax = 32ULL << 20;  // of their names
constexpr std::size_t kReportMessagesBytesMax = 4 << 20;     // of what they say; beyond them there is none
constexpr int kReportDepthMax = 64;
constexpr std::size_t kNameBytesMax = 1024;  // longer names are cut and get their hash appended

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string name;  // "group::name" ("name" when there is no group), valid UTF-8; a repeated name gets "#2",
                     // "#3", ...
  TestStatus status = TestStatus::kPassed;
  std::string message;  // of a failure: what tells most, at most 512 bytes, no escape sequence in it
};
using Tests = std::deque<TestCase>;  // never moved while it grows: names are looked up by views of them

enum class Severity { kUnknown, kLow, kMedium, kHigh, kCritical };

// What an analyser or a scanner found.
struct Finding {
  // What it is and where, without what moves when other lines change (line numbers, versions): the same
  // finding has the same name before and after. A repeated name gets "#2", "#3", ... Valid UTF-8.
  std::string name;
  Severity severity = Severity::kUnknown;
};
using Findings = std::deque<Finding>;

// An entry that stands for more than a test: a file that could not be loaded, a package that was not built, a
// hook that failed. It is nobody's test: when it failed it fails the attempt, and no inventory has it.
struct NoTest {
  enum class What {
    kLoaded,    // a file, a package or a class: its tests, if there are any, are named "NAME::..." or
                // "NAME...."
    kFile,      // a file by its path, whose tests do not have its name
    kHook,      // of a suite, or the suite: tests of it may not have run
    kTeardown,  // after a test that ran
    kRun,       // the runner itself: it says that it failed
  };
  What what = What::kRun;
  std::string name;
  std::string message;  // as that of a test
  bool failed = true;   // false: a file or a package that is there and well
};

// Of one family: the others are empty.
struct Report {
  Tests tests;
  std::deque<NoTest> no_tests;
  // Why there may be more tests than these: "a.test.js could not be loaded"; "" when these are all. An
  // inventory that was read from such a report is a lower bound.
  std::string lower_bound;
  // Why the runner ended before all of its tests had run: "--bail", a panic; "" when nothing says that it
  // did. It is a reason of a lower bound, too. A file that could not be loaded, or a hook that failed, is
  // none: the runner went on.
  std::string stopped;
  // At least so many more tests the report counts than it has: those behind the end.
  std::int64_t not_run = 0;
  Findings findings;
};

inline constexpr std::string_view kTestsFamily = "tests", kAnalysisFamily = "analysis",
                                  kVulnerabilitiesFamily = "vulnerabilities";

// How many tests, entries that are none, and findings.
inline std::int64_t items_of(const Report& report) {
  return static_cast<std::int64_t>(report.tests.size() + report.no_tests.size() + report.findings.size());
}

// Sorted.
std::vector<std::string_view> report_formats();
// The family of a format: one of the above; "" when there is no such format.
std::string_view family_of(std::string_view format);

// What it says has no secrets: they are taken out before anything is cut.
// kInvalid: not of that format, cut short, or at odds with its own totals (row and column set where there are
// any). kExhausted: a bound above, or no memory is left. kNotFound: there is no such format. Else what the
// source says.
Result<Report> read_report(std::string_view format, ByteSource& report, const secrets::Redactor& redactor);

}  // namespace pawl::gates
