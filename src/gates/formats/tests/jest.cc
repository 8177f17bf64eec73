// `jest --json --outputFile` (jestjs.io/docs/cli, "--json"), and Vitest's reporter `json`, which writes the
// same format. Tests are named "file::describe > test".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

constexpr std::array<std::string_view, 9> kJestTotals = {
    "numFailedTests", "numTotalTests",  "numFailedTestSuites", "numRuntimeErrorTestSuites",
    "success",        "wasInterrupted", "numPassedTests",      "numPendingTests",
    "numTodoTests"};

std::string title_of(const Json& test) {
  std::string out;
  if (const auto above = test.find("ancestorTitles"); above != test.end() && above->is_array())
    for (const auto& title : *above)
      if (title.is_string() && !title.get_ref<const std::string&>().empty())
        out += title.get_ref<const std::string&>() + " > ";
  return out + text_in(test, "title");
}

std::string first_message(const Json& test) {
  const auto messages = test.find("failureMessages");
  const bool some =
      messages != test.end() && messages->is_array() && !messages->empty() && messages->front().is_string();
  return some ? messages->front().get<std::string>() : "";
}

bool is_skipped(const std::string& status) {
  constexpr std::string_view kWords[] = {"pending", "skipped", "todo", "disabled", "focused"};
  return std::ranges::find(kWords, status) != std::end(kWords);
}

class JestReader {
 public:
  explicit JestReader(const secrets::Redactor& redactor) : tests_(&redactor) {}

  Result<Report> read(ByteSource& report) {
    const auto take = [&](std::string_view path, const Json& item) -> Status {
      return path == "testResults" ? add_file(item) : (totals_.take(path, item), Status());
    };
    PAWL_TRY(const auto found,
             for_each_json_item(report, {"testResults"}, take, {kJestTotals.begin(), kJestTotals.end()}));
    if (found.empty()) return fail(ErrorKind::kInvalid, "no testResults in it");
    PAWL_OK(check_totals());
    return tests_.take();
  }

 private:
  Status add_file(const Json& file) {
    const std::string path = text_in(file, "name"), status = text_in(file, "status");
    const auto group = inside_workspace(path);
    const auto of_file = file.find("assertionResults");
    if (of_file == file.end() || !of_file->is_array())
      return fail(ErrorKind::kInvalid, "a file without assertionResults");
    bool failed_by_a_test = false, any = false;
    for (const auto& test : *of_file) {
      // The entry of a file that could not be loaded, in Jest's results after a JUnit reporter changed them.
      if (text_in(test, "title").empty() && text_in(test, "status") == "error") continue;
      PAWL_OK(add_test(group, test));
      any = true;
      failed_by_a_test = failed_by_a_test || tests_.last().status == TestStatus::kFailed;
    }
    const bool well = status == "passed" || is_skipped(status);
    if (well && !any && without_tests_.empty()) without_tests_ = group;
    if (well || failed_by_a_test) return {};
    ++failed_files_;
    // A file without tests could not be loaded. Other files without a failed test failed in a hook.
    return tests_.add_no_test(any ? NoTest::What::kHook : NoTest::What::kLoaded, group,
                              text_in(file, "message"));
  }

  Status add_test(std::string_view group, const Json& test) {
    const std::string status = text_in(test, "status");
    const bool passed = status == "passed";
    failed_ += passed || is_skipped(status) ? 0 : 1;
    passed_ += passed ? 1 : 0;
    return tests_.add(group, title_of(test),
                      passed               ? TestStatus::kPassed
                      : is_skipped(status) ? TestStatus::kSkipped
                                           : TestStatus::kFailed,
                      status == "failed" ? first_message(test) : fmt::format("its status is \"{}\"", status));
  }

  Status check_totals() {
    const auto all = static_cast<std::int64_t>(tests_.size());
    for (const auto& [total, found] :
         {std::pair{"numTotalTests", all}, std::pair{"numFailedTests", failed_}}) {
      const auto said = totals_.number(total);
      if (said && *said != found)
        return fail(ErrorKind::kInvalid, fmt::format("{} is {}, and its tests are {}", total, *said, found));
    }
    // Vitest counts skipped tests among the passed ones, and counts a test that it did not end as pending.
    const auto others = all - passed_;
    for (const auto& [total, most] :
         {std::pair{"numPassedTests", all - failed_}, std::pair{"numPendingTests", others},
          std::pair{"numTodoTests", others}})
      if (const auto said = totals_.number(total); said && *said > most)
        return fail(ErrorKind::kInvalid, fmt::format("{} is {}, and its tests are {}", total, *said, most));
    const bool fails = failed_ > 0 || failed_files_ > 0;
    for (const auto* total : {"numFailedTestSuites", "numRuntimeErrorTestSuites"})
      if (totals_.number(total).value_or(0) > 0 && !fails)
        return fail(ErrorKind::kInvalid,
                    fmt::format("{} is {}, and nothing in it failed", total, *totals_.number(total)));
    if (totals_.boolean("wasInterrupted").value_or(false)) {
      if (!fails) return fail(ErrorKind::kInvalid, "wasInterrupted: it ended before all tests had run");
      tests_.stopped_early("the run was interrupted");
    }
    // With `bail`, Vitest lists the files that it did not run any more. No file passes without a test.
    if (fails && !without_tests_.empty())
      tests_.stopped_early(without_tests_ + " is in its list, and no test of it");
    // A threshold of coverage or a snapshot failed: no other field shows it.
    if (totals_.boolean("success") == false && !fails)
      return tests_.add_no_test(NoTest::What::kRun, "the run", "success is false, and no test failed");
    return {};
  }

  TestCollector tests_;
  Totals totals_;
  std::int64_t passed_ = 0, failed_ = 0, failed_files_ = 0;
  std::string without_tests_;  // the first file that passed and has no test
};

}  // namespace

Result<Report> jest(ByteSource& report, const secrets::Redactor& redactor) {
  return JestReader(redactor).read(report);
}

}  // namespace pawl::gates::formats
