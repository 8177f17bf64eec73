// Mocha's reporter `json` (mochajs.org/#json). Tests are named "file::describe test".
#include <fmt/format.h>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

class MochaReader {
 public:
  explicit MochaReader(const secrets::Redactor& redactor) : tests_(&redactor) {}

  Result<Report> read(ByteSource& report) {
    const auto take = [&](std::string_view path, const Json& item) -> Status {
      return path.starts_with("stats.") ? (totals_.take(path, item), Status()) : add(path, item);
    };
    // The list `tests` is not read: a failed hook is only in `failures`.
    PAWL_TRY(const auto found,
             for_each_json_item(report, {"passes", "pending", "failures"}, take,
                                {"stats.tests", "stats.passes", "stats.pending", "stats.failures"}));
    if (!is_once(found, "passes") || !is_once(found, "pending") || !is_once(found, "failures"))
      return fail(ErrorKind::kInvalid, "passes, pending and failures are not all in it, once");
    for (const auto& [list, items] : found_) {
      const auto said = totals_.number("stats." + list);
      if (said && *said != items)
        return fail(ErrorKind::kInvalid,
                    fmt::format("stats.{} is {}, and there are {} in the list", list, *said, items));
    }
    // A failed hook is in a list, but stats.tests does not count it.
    std::int64_t all = 0;
    for (const auto& [list, items] : found_) all += items;
    if (const auto said = totals_.number("stats.tests"); said && *said > all)
      return fail(ErrorKind::kInvalid,
                  fmt::format("stats.tests is {}, and there are {} in the lists", *said, all));
    return tests_.take();
  }

 private:
  Status add(std::string_view list, const Json& test) {
    ++found_[std::string(list)];
    const std::string file = text_in(test, "file"), title = text_in(test, "fullTitle");
    const auto group = inside_workspace(file);
    if (list == "passes") return tests_.add(group, title, TestStatus::kPassed);
    if (list == "pending") return tests_.add(group, title, TestStatus::kSkipped);
    const auto error = test.find("err");
    std::string message;
    if (error != test.end())
      message = text_in(*error, "stack").find(text_in(*error, "message")) != std::string::npos
                    ? text_in(*error, "stack")
                    : text_in(*error, "message") + "\n" + text_in(*error, "stack");
    if (is_hook_of_mocha(title))
      return tests_.add_no_test(NoTest::What::kHook, group + (group.empty() ? "" : "::") + title, message);
    return tests_.add(group, title, TestStatus::kFailed, message);
  }

  TestCollector tests_;
  Totals totals_;
  std::map<std::string, std::int64_t> found_ = {{"passes", 0}, {"pending", 0}, {"failures", 0}};
};

}  // namespace

Result<Report> mocha(ByteSource& report, const secrets::Redactor& redactor) {
  return MochaReader(redactor).read(report);
}

}  // namespace pawl::gates::formats
