// Test reports of large suites: one of 100 MB with 180,000 tests, and a thousand of 2 MiB with 199,000 tests,
// which are judged together. Each runs alone, because the memory of the whole process is one of the figures.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <string>

#include "amount.h"
#include "gates/gates.h"
#include "gates/report.h"
#include "os/file.h"
#include "secrets/redact.h"

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace)

const int kTests = amount(180'000);
const auto kBytes = static_cast<std::size_t>(amount(100'000'000));
const int kReports = amount(1000);
constexpr int kTestsOfEach = 199;
constexpr std::size_t kBytesOfEach = 2 << 20;

// Writes `tests` tests, numbered from `first`, in a file of about `bytes` bytes.
void write_report(const std::string& path, int first, int tests, std::size_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  PAWL_CHECK(file != nullptr);
  fmt::print(file, "<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"all\">\n");
  const std::string output(bytes / static_cast<std::size_t>(tests) - 150, 'x');
  for (int i = first; i < first + tests; ++i)
    fmt::print(file,
               "<testcase classname=\"org.example.module{}.SomeTest\" name=\"does what it should {:06}\" "
               "time=\"0.01\">\n<system-out>{}</system-out>\n</testcase>\n",
               i / 1000, i, output);
  fmt::print(file, "</testsuite></testsuites>\n");
  PAWL_CHECK(std::fclose(file) == 0);
}

void ReadReport(benchmark::State& state) {
  char path[] = "build/bench-report-XXXXXX";
  const os::UniqueFd fd(mkstemp(path));
  PAWL_CHECK(fd);
  write_report(path, 0, kTests, kBytes);
  const secrets::Redactor redactor(std::string(64, '0'), {});
  for (auto _ : state) {
    const auto source = os::file_source(path, gates::kReportBytesMax);
    const auto report = gates::read_report("junit", *source, redactor);
    PAWL_CHECK(report && std::ssize(report->tests) == kTests);
  }
  unlink(path);
}
BENCHMARK(ReadReport)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

void JudgeReports(benchmark::State& state) {
  char path[] = "build/bench-report-XXXXXX";
  const os::UniqueFd fd(mkstemp(path));
  PAWL_CHECK(fd);
  const secrets::Redactor redactor(std::string(64, '0'), {});
  for (auto _ : state) {
    gates::StepFacts step{
        .step_name = "unit", .outcome = Outcome::kExited, .exit_code = 0, .declared = {"tests"}};
    for (int i = 0; i < kReports; ++i) {
      write_report(path, i * kTestsOfEach, kTestsOfEach, kBytesOfEach);
      const auto source = os::file_source(path, gates::kReportBytesMax);
      step.reports.push_back({.path = std::to_string(i),
                              .format = "junit",
                              .family = "tests",
                              .report = gates::read_report("junit", *source, redactor)});
    }
    gates::GateFacts facts{.gate_id = "g", .required = {"tests"}, .steps = {std::move(step)}};
    facts.base = gates::inventories_of(facts.required, facts.steps);
    const auto signals = gates::evaluate(facts);
    PAWL_CHECK(gates::gate_passed(facts, signals));
    PAWL_CHECK(signals.front().details["tests"] == kReports * kTestsOfEach);
  }
  unlink(path);
}
BENCHMARK(JudgeReports)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
