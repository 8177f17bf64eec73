// JUnit XML as the tools write it (Ant/Surefire, pytest, jest-junit, CTest, GoogleTest), read as a stream
// with bounds: the bytes come from a sandbox. Entities are not expanded beyond the five of XML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::gates {

constexpr std::uint64_t kReportBytesMax = 64ULL << 20;
constexpr std::int64_t kReportTestsMax = 200'000;
constexpr int kReportDepthMax = 64;
constexpr std::size_t kTestNameBytesMax = 1024;  // longer names are cut and get their hash appended

enum class TestStatus { kPassed, kFailed, kSkipped };

struct TestCase {
  std::string name;  // "classname::name" ("name" when there is no classname), valid UTF-8; a repeated name
                     // gets "#2", "#3", ...
  TestStatus status = TestStatus::kPassed;
  std::string message;  // of a failure: its message attribute, at most 512 bytes
};

// kInvalid: not well-formed (row and column set), no <testsuite> in it. kExhausted: a bound above.
Result<std::vector<TestCase>> read_junit(std::string_view xml);

}  // namespace pawl::gates
