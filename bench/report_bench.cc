// A test report of 100 MB, as a large suite writes it: 180,000 tests with some output each. Run alone,
// because the memory of the whole process is one of the figures.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gates/report.h"
#include "os/file.h"
#include "secrets/redact.h"

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace)

constexpr int kTests = 180'000;
constexpr std::size_t kBytes = 100'000'000;

void write_report(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  PAWL_CHECK(file != nullptr);
  fmt::print(file, "<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"all\">\n");
  const std::string output(kBytes / kTests - 150, 'x');
  for (int i = 0; i < kTests; ++i)
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
  write_report(path);
  const secrets::Redactor redactor(std::string(64, '0'), {});
  for (auto _ : state) {
    const auto source = os::file_source(path, gates::kReportBytesMax);
    const auto report = gates::read_report("junit", *source, redactor);
    PAWL_CHECK(report && report->tests.size() == kTests);
  }
  unlink(path);
}
BENCHMARK(ReadReport)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
