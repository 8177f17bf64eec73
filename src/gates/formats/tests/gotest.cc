// `go test -json`: an event a line (pkg.go.dev/cmd/test2json). Tests are named "package::Test/sub".
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/lines.h"

namespace pawl::gates::formats {
namespace {

struct Package {
  bool failed = false, failed_by_a_test = false, over = false;
  std::map<std::string, std::optional<TestStatus>> open;  // tests that began and have not ended, with what
                                                          // their output says of their end
};

// "50%--- PASS: TestA (0.00s)": before Go 1.20 the end of a test that printed without a line end is output
// only (golang/go issue 38063).
std::optional<std::pair<std::string, TestStatus>> end_in(std::string_view output) {
  constexpr std::pair<std::string_view, TestStatus> kMarks[] = {{"--- PASS: ", TestStatus::kPassed},
                                                                {"--- FAIL: ", TestStatus::kFailed},
                                                                {"--- SKIP: ", TestStatus::kSkipped}};
  for (const auto& [mark, status] : kMarks) {
    const auto at = output.rfind(mark);
    if (at == output.npos) continue;
    output.remove_prefix(at + mark.size());
    return std::pair(std::string(output.substr(0, output.find(' '))), status);
  }
  return std::nullopt;
}

class GotestReader {
 public:
  explicit GotestReader(ByteSource& report) : lines_(report) {}

  Result<Tests> read() {
    std::string_view line;
    while (lines_.next(line)) {
      if (!line.starts_with('{')) continue;  // what the build says
      const Json event = Json::parse(line, nullptr, false);
      if (!event.is_object()) return fail_at(lines_, "not an event of go test -json");
      PAWL_OK(take(event));
    }
    PAWL_OK(lines_.status());
    if (packages_.empty()) return fail(ErrorKind::kInvalid, "no event of a package in it");
    for (const auto& [name, package] : packages_) PAWL_OK(close(name, package));
    return tests_.take();
  }

 private:
  Status take(const Json& event) {
    const std::string action = text_in(event, "Action"), name = text_in(event, "Package"),
                      test = text_in(event, "Test");
    if (name.empty()) return {};
    if (action == "output") return take_output(name, text_in(event, "Output"));
    if (packages_.size() >= static_cast<std::size_t>(kReportItemsMax) || open_ >= kReportItemsMax)
      return fail(ErrorKind::kExhausted, "more packages or open tests than the limit");
    auto& package = packages_[name];
    const bool ended = action == "pass" || action == "fail" || action == "skip";
    if (test.empty()) {
      package.over = package.over || ended;
      package.failed = package.failed || action == "fail";
      return {};
    }
    if (action == "run") {
      open_ += package.open.try_emplace(test).second ? 1 : 0;
      return {};
    }
    if (!ended) return {};
    open_ -= static_cast<std::int64_t>(package.open.erase(test));
    package.failed_by_a_test = package.failed_by_a_test || action == "fail";
    return tests_.add(name, test,
                      action == "pass"   ? TestStatus::kPassed
                      : action == "fail" ? TestStatus::kFailed
                                         : TestStatus::kSkipped);
  }

  Status take_output(const std::string& name, std::string_view output) {
    const auto package = packages_.find(name);
    const auto end = package == packages_.end() ? std::nullopt : end_in(output);
    if (!end) return {};
    if (const auto test = package->second.open.find(end->first); test != package->second.open.end())
      test->second = end->second;
    return {};
  }

  // Adds the tests that no event ended: after a panic, a time limit or a failed build, or where only the
  // output tells the end.
  Status close(const std::string& name, const Package& package) {
    bool failed_by_a_test = package.failed_by_a_test;
    const bool passed = package.over && !package.failed;
    for (const auto& [test, said] : package.open) {
      const bool ended = said && (passed || *said == TestStatus::kFailed);
      const auto status = ended ? *said : TestStatus::kFailed;
      failed_by_a_test = failed_by_a_test || status == TestStatus::kFailed;
      PAWL_OK(tests_.add(name, test, status, ended ? "it failed" : "it did not end"));
    }
    const bool alone = package.failed && !failed_by_a_test;
    if (!package.over || alone)
      return tests_.add("", name, TestStatus::kFailed,
                        package.over ? "the package failed" : "it did not end");
    return {};
  }

  Lines lines_;
  TestCollector tests_;
  std::map<std::string, Package> packages_;
  std::int64_t open_ = 0;
};

}  // namespace

Result<Tests> gotest(ByteSource& report) { return GotestReader(report).read(); }

}  // namespace pawl::gates::formats
