// Functions that show a parsed report in one line.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "gates/report.h"
#include "support/plain_redactor.h"

namespace pawl::gates {

inline Result<Report> report_of(std::string_view format, std::string text) {
  MemorySource bytes(std::move(text));
  return read_report(format, bytes, testing::plain_redactor());
}

// The tests as "+a -b ~c" (passed, failed, skipped), failed NoTest entries as "!d". The message of the error
// when the report cannot be read or is cut short.
inline std::string told_by(std::string_view format, std::string text) {
  const auto report = report_of(format, std::move(text));
  if (!report) return report.error().message;
  if (!report->cut_short.empty()) return report->cut_short;
  std::string out;
  const auto add = [&](const std::string& mark, const std::string& name) {
    out += (out.empty() ? "" : " | ") + mark + name;
  };
  constexpr const char* kMarks[] = {"+", "-", "~"};
  for (const auto& test : report->tests) add(kMarks[static_cast<int>(test.status)], test.name);
  for (const auto& other : report->no_tests)
    if (other.failed) add("!", other.name);
  return out;
}

inline std::string bound_of(std::string_view format, std::string text) {
  const auto report = report_of(format, std::move(text));
  return report ? report->lower_bound : report.error().message;
}

// The message of the first failed test; without one, that of the first failed NoTest entry.
inline std::string message_in(std::string_view format, std::string text) {
  const auto report = report_of(format, std::move(text));
  if (!report) return report.error().message;
  for (const auto& test : report->tests)
    if (test.status == TestStatus::kFailed) return test.message;
  for (const auto& other : report->no_tests)
    if (other.failed) return other.message;
  return "nothing failed";
}

// The findings as "name high | name unknown"; the message of the error when the report cannot be read.
inline std::string found(std::string_view format, std::string text) {
  constexpr const char* kWords[] = {"unknown", "low", "medium", "high", "critical"};
  MemorySource bytes(std::move(text));
  const auto report = read_report(format, bytes, testing::plain_redactor());
  if (!report) return report.error().message;
  std::string out;
  for (const auto& finding : report->findings)
    out += (out.empty() ? "" : " | ") + finding.name + " " + kWords[static_cast<int>(finding.severity)];
  return out;
}

}  // namespace pawl::gates
