// A report in a line, as a reader reads it.
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

// "+a -b ~c": passed, failed, skipped; "!d": no test, and it failed. Or why not.
inline std::string told_by(std::string_view format, std::string text) {
  const auto report = report_of(format, std::move(text));
  if (!report) return report.error().message;
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

// The message of the first test, or of the first that is none, which failed.
inline std::string message_in(std::string_view format, std::string text) {
  const auto report = report_of(format, std::move(text));
  if (!report) return report.error().message;
  for (const auto& test : report->tests)
    if (test.status == TestStatus::kFailed) return test.message;
  for (const auto& other : report->no_tests)
    if (other.failed) return other.message;
  return "nothing failed";
}

// "name high | name unknown", or why not.
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
