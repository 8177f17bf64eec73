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

namespace pawl::gates {

constexpr std::uint64_t kReportBytesMax = 128ULL << 20;
constexpr std::int64_t kReportItemsMax = 200'000;  // tests, or findings
constexpr int kReportDepthMax = 64;
constexpr std::size_t kNameBytesMax = 1024;  // longer names are cut and get their hash appended

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string name;  // "group::name" ("name" when there is no group), valid UTF-8; a repeated name gets "#2",
                     // "#3", ...
  TestStatus status = TestStatus::kPassed;
  std::string message;  // of a failure: its first words, at most 512 bytes
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

// Of one family: the other is empty.
struct Report {
  Tests tests;
  Findings findings;
};

inline constexpr std::string_view kTestsFamily = "tests", kAnalysisFamily = "analysis",
                                  kVulnerabilitiesFamily = "vulnerabilities";

// Sorted.
std::vector<std::string_view> report_formats();
// The family of a format: one of the above; "" when there is no such format.
std::string_view family_of(std::string_view format);

// kInvalid: not of that format, cut short, or at odds with its own totals (row and column set where there are
// any). kExhausted: a bound above. kNotFound: there is no such format. Else what the source says.
Result<Report> read_report(std::string_view format, ByteSource& report);

}  // namespace pawl::gates
