// What a test runner reports, read out of the file that it wrote. The bytes come from a sandbox: each reader
// streams them, in the memory of the tests it finds, and stops at the bounds below.
//
// A format is one file in formats/ of the format's name; that file is all there is to add for another.
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
constexpr std::int64_t kReportTestsMax = 200'000;
constexpr int kReportDepthMax = 64;
constexpr std::size_t kTestNameBytesMax = 1024;  // longer names are cut and get their hash appended

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string name;  // "group::name" ("name" when there is no group), valid UTF-8; a repeated name gets "#2",
                     // "#3", ...
  TestStatus status = TestStatus::kPassed;
  std::string message;  // of a failure: its first words, at most 512 bytes
};
using Tests = std::deque<TestCase>;  // never moved while it grows: names are looked up by views of them

// Sorted.
std::vector<std::string_view> test_formats();

// kInvalid: not of that format, cut short, or at odds with its own totals (row and column set where there are
// any). kExhausted: a bound above. kNotFound: there is no such format. Else what the source says.
Result<Tests> read_tests(std::string_view format, ByteSource& report);

}  // namespace pawl::gates
