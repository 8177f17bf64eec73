// `go test -json`: one event on each line (pkg.go.dev/cmd/test2json). Tests are named "package::Test/sub".
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/lines.h"

namespace pawl::gates::formats {
namespace {

// Bytes that are stored of the output of one test, package or build, and of all outputs together.
constexpr std::size_t kOutputMax = 4096, kAllOutputMax = 16 << 20;

// An output that arrives in pieces; its beginning and its end are stored. A secret may be split over pieces.
struct Output {
  explicit Output(const secrets::Redactor& redactor) : stream(redactor) {}
  std::string text;
  secrets::Redactor::Stream stream;

  std::size_t size() const { return text.size() + stream.pending(); }
  void add(const std::string& more) {
    text += more;
    if (text.size() > kOutputMax) text.erase(kOutputMax / 2, text.size() - kOutputMax);
  }
  std::string all() {
    add(stream.finish());
    return std::move(text);
  }
};

// Go 1.20 and later report the start of a benchmark. Only the output shows that it was measured.
bool is_benchmark(std::string_view test) { return test.starts_with("Benchmark"); }

// Whether a line is a result: "BenchmarkA-8 \t 100 \t 12 ns/op". ReportMetric() can leave "ns/op" out.
bool is_measurement(std::string_view output) {
  return is_benchmark(output) && (output.find('\t') != output.npos || output.find(" ns/op") != output.npos);
}

// "BenchmarkA" for "BenchmarkA-8": the end is the number of processors (-cpu).
std::string_view without_processors(std::string_view test) {
  const auto digits = test.find_last_not_of("0123456789") + 1;
  const bool numbered = digits > 1 && digits < test.size() && test[digits - 1] == '-';
  return numbered && is_benchmark(test) ? test.substr(0, digits - 1) : test;
}

struct OpenTest {
  explicit OpenTest(const secrets::Redactor& redactor) : output(redactor) {}
  std::optional<TestStatus> said;  // the status that its output shows
  Output output;                   // becomes the message of a failure
};

struct Package {
  explicit Package(const secrets::Redactor& redactor) : output(redactor) {}
  bool failed = false, failed_by_a_test = false, over = false;
  bool without_tests = false;  // "[no test files]": its event has the action "skip"
  std::string panicked;        // the test whose output has a panic
  // The package printed PASS or FAIL after all of its tests had run. A panic or a time limit prevents that.
  bool told = false;
  Output output;                         // output of the package itself
  std::string failed_build;              // the build that the package needed
  std::map<std::string, OpenTest> open;  // tests that began and did not end

  // The open test with this name; for a benchmark, also with its number of processors. Null when there is
  // none.
  OpenTest* opened(const std::string& test) {
    auto found = open.find(test);
    if (found == open.end()) found = open.find(std::string(without_processors(test)));
    return found == open.end() ? nullptr : &found->second;
  }
};

// The status in "50%--- PASS: TestA (0.00s)". Before Go 1.20, a test that printed no line end is only ended
// by its output (golang/go issue 38063).
std::optional<std::pair<std::string, TestStatus>> end_in(std::string_view output) {
  constexpr std::pair<std::string_view, TestStatus> kMarks[] = {{"--- PASS: ", TestStatus::kPassed},
                                                                {"--- FAIL: ", TestStatus::kFailed},
                                                                {"--- SKIP: ", TestStatus::kSkipped},
                                                                {"--- BENCH: ", TestStatus::kPassed}};
  for (const auto& [mark, status] : kMarks) {
    const auto at = output.rfind(mark);
    if (at == output.npos) continue;
    output.remove_prefix(at + mark.size());
    return std::pair(std::string(output.substr(0, output.find_first_of(" \r\n"))), status);
  }
  return std::nullopt;
}

// Whether go test itself prints the line: "=== RUN   TestA", "--- FAIL: TestA (0.00s)", "FAIL",
// "exit status 1".
bool is_noise(std::string_view output) {
  while (output.starts_with(' ')) output.remove_prefix(1);
  return output.starts_with("=== ") || output.starts_with("--- ") || output == "FAIL\n" ||
         output == "PASS\n" || output.starts_with("exit status ");
}

class GotestReader {
 public:
  GotestReader(ByteSource& report, const secrets::Redactor& redactor)
      : redactor_(&redactor), lines_(report), tests_(&redactor) {}

  Result<Report> read() {
    std::string_view line;
    while (lines_.next(line)) {
      if (!line.starts_with('{')) {
        PAWL_OK(take_build_line(line));
        continue;
      }
      const Json event = Json::parse(line, nullptr, false);
      if (!event.is_object()) return fail_at(lines_, "not an event of go test -json");
      PAWL_OK(take(event));
    }
    PAWL_OK(lines_.status());
    if (packages_.empty()) return fail(ErrorKind::kInvalid, "no event of a package in it");
    for (auto& [name, package] : packages_) PAWL_OK(close(name, package));
    return tests_.take();
  }

 private:
  // Before Go 1.24 a build prints "# example.org/a [example.org/a.test]" and then its errors as plain lines.
  Status take_build_line(std::string_view line) {
    if (line.starts_with("# ")) build_ = std::string(line.substr(2, line.find(' ', 2) - 2));
    return build_.empty() ? Status() : keep_of_build(build_, std::string(line) + "\n");
  }

  Status keep_of_build(const std::string& name, std::string_view output) {
    if (builds_.size() > kBuildsMax) return {};
    const auto [build, is_new] = builds_.try_emplace(name, *redactor_);
    if (is_new) PAWL_OK(stored_.add(name.size() + sizeof(*build)));
    keep(build->second, output);
    return {};
  }

  // Replaces a text that is stored until the end of the report.
  Status store(std::string& text, std::string by) {
    stored_.take_back(text.size());
    text = std::move(by);
    return stored_.add(text.size());
  }

  Result<Package*> package_of(const std::string& name) {
    const auto [package, is_new] = packages_.try_emplace(name, *redactor_);
    if (is_new) PAWL_OK(stored_.add(name.size() + sizeof(*package)));
    return &package->second;
  }

  Status begin(Package& package, const std::string& test) {
    if (!package.open.try_emplace(test, *redactor_).second) return {};
    ++open_;
    return stored_.add(size_of(test));
  }

  // Ends an open test, and returns its output.
  std::string end(Package& package, const std::string& test) {
    auto begun = package.open.extract(test);
    if (begun.empty()) return "";
    --open_;
    stored_.take_back(size_of(test));
    kept_ -= begun.mapped().output.size();
    return begun.mapped().output.all();
  }

  static std::size_t size_of(const std::string& test) {
    return test.size() + sizeof(decltype(Package::open)::value_type);
  }

  Status take(const Json& event) {
    const std::string action = text_in(event, "Action"), name = text_in(event, "Package"),
                      test = text_in(event, "Test");
    if (action == "build-output")
      PAWL_OK(keep_of_build(text_in(event, "ImportPath"), text_in(event, "Output")));
    if (name.empty()) return {};
    if (action == "output") return take_output(name, test, text_in(event, "Output"));
    if (packages_.size() >= static_cast<std::size_t>(kReportItemsMax) || open_ >= kReportItemsMax)
      return fail(ErrorKind::kExhausted, "more packages or open tests than the limit");
    PAWL_TRY(Package * found, package_of(name));
    Package& package = *found;
    const bool ended = action == "pass" || action == "fail" || action == "skip";
    if (test.empty()) {
      package.over = package.over || ended;
      package.failed = package.failed || action == "fail";
      package.without_tests = action == "skip";
      return action == "fail" ? store(package.failed_build, text_in(event, "FailedBuild")) : Status();
    }
    if (action == "run") return begin(package, test);
    if (!ended) return {};
    // The benchmark is measured again, for other processors or because of -count.
    if (auto* benchmark = package.opened(test); benchmark != nullptr && !package.open.contains(test)) {
      if (action == "fail") benchmark->said = TestStatus::kFailed;
      return {};
    }
    const std::string output = end(package, test);
    package.failed_by_a_test = package.failed_by_a_test || action == "fail";
    if (action == "fail" && output.find("panic: ") != std::string::npos) {
      tests_.bound_from_below(name + "::" + test + " ended in a panic");
      PAWL_OK(store(package.panicked, test));
    }
    return tests_.add(name, test,
                      action == "pass"   ? TestStatus::kPassed
                      : action == "fail" ? TestStatus::kFailed
                                         : TestStatus::kSkipped,
                      output);
  }

  Status take_output(const std::string& name, const std::string& test_name, std::string_view output) {
    const auto package = packages_.find(name);
    if (package == packages_.end()) return {};
    if (const auto end = end_in(output))
      if (auto* test = package->second.opened(end->first);
          test != nullptr && test->said != TestStatus::kFailed)
        test->said = end->second;
    if (test_name.empty() && (output == "PASS\n" || output == "FAIL\n")) package->second.told = true;
    if (is_noise(output)) return {};
    auto* test = package->second.opened(test_name);
    if (test != nullptr && !test->said && is_benchmark(test_name) && is_measurement(output))
      test->said = TestStatus::kPassed;
    keep(test == nullptr ? package->second.output : test->output, output);
    return {};
  }

  void keep(Output& to, std::string_view output) {
    const std::size_t before = to.size();
    if (kept_ < kAllOutputMax)
      to.add(to.stream.take(output));
    else
      to.stream = secrets::Redactor::Stream(*redactor_);  // the pending text may be a part of a secret
    kept_ = kept_ - before + to.size();
  }

  std::string words_of(const std::string& name, Package& package) {
    for (const auto& build : {package.failed_build, name})
      if (const auto found = builds_.find(build); !build.empty() && found != builds_.end()) {
        found->second.add(found->second.stream.finish());
        return found->second.text;
      }
    if (auto output = package.output.all(); !output.empty()) return output;
    return package.over ? "the package failed" : "it did not end";
  }

  // Adds the tests that no event ended: after a panic, a time limit or a failed build, or where only the
  // output shows the end. Then adds the package as an entry, if it failed by itself or has no test files.
  Status close(const std::string& name, Package& package) {
    bool failed_by_a_test =
        package.failed_by_a_test || std::ranges::any_of(package.open, [](const auto& open) {
          return open.second.said == TestStatus::kFailed;
        });
    const bool passed = package.over && !package.failed;
    // The output also counts for a package that ran to its end and failed by another test.
    const bool holds = passed || (package.over && package.told && failed_by_a_test);
    while (!package.open.empty()) {
      auto node = package.open.extract(package.open.begin());  // its memory is free before the next is added
      const std::string& test = node.key();
      OpenTest& open = node.mapped();
      const bool by_output = is_benchmark(test);
      if (by_output && !open.said && (passed || package.told)) open.said = TestStatus::kPassed;
      const bool ended = open.said && (holds || by_output || *open.said == TestStatus::kFailed);
      const auto status = ended ? *open.said : TestStatus::kFailed;
      failed_by_a_test = failed_by_a_test || status == TestStatus::kFailed;
      const std::string output = open.output.all();
      PAWL_OK(
          tests_.add(name, test, status, output.empty() ? (ended ? "it failed" : "it did not end") : output));
      if (!ended) tests_.stopped_early(name + "::" + test + " did not end");
    }
    // The panic ended the package, so the tests after it did not run. If the package printed
    // PASS or FAIL, the test only printed a panic that it caught.
    if (!package.panicked.empty() && !package.told)
      tests_.stopped_early(name + "::" + package.panicked + " ended in a panic");
    const bool failed = !package.over || (package.failed && !failed_by_a_test);
    if (!failed && !package.without_tests) return {};  // its tests are in the report, if it has any
    return tests_.add_no_test(NoTest::What::kLoaded, name, failed ? words_of(name, package) : "", failed);
  }

  static constexpr std::size_t kBuildsMax = 1000;

  const secrets::Redactor* redactor_;
  Lines lines_;
  TestCollector tests_;
  std::map<std::string, Package> packages_;
  std::map<std::string, Output> builds_;  // output of builds, by package
  std::string build_;                     // the package whose build prints the current lines
  std::int64_t open_ = 0;
  std::size_t kept_ = 0;  // bytes of stored output
  StoredBytes stored_;    // names and texts that are stored until a test or the report ends
};

}  // namespace

Result<Report> gotest(ByteSource& report, const secrets::Redactor& redactor) {
  return GotestReader(report, redactor).read();
}

}  // namespace pawl::gates::formats
