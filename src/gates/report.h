// The report of a test runner, an analyser or a scanner, read from the file that the tool wrote. The bytes
// come from a sandbox and are not trusted: each reader streams them, uses memory only for its results, and stops at
// the bounds below.
//
// A format is one file in formats/FAMILY/ with the name of the format; CMakeLists.txt collects the files. It
// also needs its key in docs/plan.schema.json and seeds of the fuzzer (docs/extending.md).
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
// Tests or findings, in one report and in all reports of a step.
constexpr std::int64_t kReportItemsMax = 200'000;
// For all names in one report, and in all reports of a step.
constexpr std::uint64_t kReportNamesBytesMax = 32ULL << 20;
// For the texts that a reader stores until the end of its report, when it knows the names.
constexpr std::uint64_t kReportStoredBytesMax = 64ULL << 20;
// The limit for all messages in a report, and in all reports of a step; messages beyond it are empty.
constexpr std::size_t kReportMessagesBytesMax = 4 << 20;
constexpr int kReportDepthMax = 64;
constexpr std::size_t kNameBytesMax = 1024;  // longer names are cut and get their hash appended

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestCase {
  // "group::name", or "name" without a group; valid UTF-8; a repeated name gets "#2", "#3", ...
  std::string name;
  TestStatus status = TestStatus::kPassed;
  std::string message;  // for a failure: its most useful part, at most 512 bytes, without escape sequences
};
// A deque, so that items never move while it grows: names are looked up by views of them.
using Tests = std::deque<TestCase>;

enum class Severity { kUnknown, kLow, kMedium, kHigh, kCritical };

// One finding of an analyser or a scanner.
struct Finding {
  // The kind and the place of the finding, without parts that change with other lines (line numbers,
  // versions): the same finding has the same name before and after a change. A repeated name gets "#2", "#3",
  // ... Valid UTF-8.
  std::string name;
  Severity severity = Severity::kUnknown;
};
using Findings = std::deque<Finding>;

// An entry that stands for more than one test: a file that could not be loaded, a package that was not built,
// a hook that failed. It is not a test: a failed entry fails the attempt, and Inventory::names never has it.
struct NoTest {
  enum class What {
    kLoaded,    // a file, a package or a class; names of its tests begin with "NAME::" or "NAME.", or its
                // report is its own
    kFile,      // a file, by its path; its tests do not have its name
    kHook,      // a hook of a suite, or the suite: some of its tests may not have run
    kTeardown,  // ran after a test that ran
    kRun,       // the runner itself reports that it failed
  };
  What what = What::kRun;
  std::string name;
  std::string message;  // like the message of a test
  bool failed = true;   // false: a file or a package that loaded well, or a hook that passed
};

// Items of one family; the lists of the other families are empty.
struct Report {
  Tests tests;
  std::deque<NoTest> no_tests;
  // Suites of node --test in which a test ran, in the form that a test of their name has. Names may repeat.
  std::deque<std::string> suites;
  // Why the tool may have more tests than these, such as "a.test.js could not be loaded"; "" when these are
  // all. An inventory that is read from such a report is a lower bound.
  std::string lower_bound;
  // Why the runner ended before all of its tests ran: "--bail", a panic; "" when no sign says so. It also
  // makes the report a lower bound. A file that could not be loaded and a hook that failed do not count: the
  // runner went on.
  std::string stopped;
  // Why the report is not evidence of work, although its tests could be read: it ends too early. Set when it ends
  // inside a subtest, or when it ends early and no test failed. "" for all other reports. Such a report of base
  // gives a lower bound of its tests; without a test it gives none (has_nothing() in signal_parts.h).
  std::string cut_short;
  // The least number of tests that the report counts but does not contain: the tests after the early end.
  std::int64_t not_run = 0;
  Findings findings;
};

inline constexpr std::string_view kTestsFamily = "tests", kAnalysisFamily = "analysis",
                                  kVulnerabilitiesFamily = "vulnerabilities";

// The sizes of several reports that are in memory at once, together. `items`: tests, NoTest entries, suites and
// findings.
struct ReportSizes {
  std::int64_t items = 0;
  std::uint64_t names_bytes = 0, messages_bytes = 0;
};
// Adds the sizes of a report. Its messages are emptied when all of them are over the limit. kExhausted: the
// items, or the bytes of their names, are over a limit.
Status add_sizes(Report& report, ReportSizes& to);

// All formats, sorted by name.
std::vector<std::string_view> report_formats();
// The family of a format, one of the three above; "" for an unknown format.
std::string_view family_of(std::string_view format);

// Reads one report. Secrets are removed from its texts before any text is cut. kInvalid: the report is not of
// that format, is cut short, or contradicts its own totals; row and column are set where they are known.
// kExhausted: a bound above is reached, or memory has run out. kNotFound: the format is unknown. Other errors come
// from the source.
Result<Report> read_report(std::string_view format, ByteSource& report, const secrets::Redactor& redactor);

}  // namespace pawl::gates
