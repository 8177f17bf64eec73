// Mocha's reporter of the name json (mochajs.org/#json). Tests are named "file::describe test".
#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {

Result<Tests> mocha(ByteSource& report) {
  TestCollector tests;
  const auto take = [&](std::string_view key, const Json& test) {
    const std::string file = text_in(test, "file");
    const auto error = test.find("err");
    return tests.add(inside_workspace(file), text_in(test, "fullTitle"),
                     key == "failures"  ? TestStatus::kFailed
                     : key == "pending" ? TestStatus::kSkipped
                                        : TestStatus::kPassed,
                     error == test.end() ? "" : text_in(*error, "message"));
  };
  // Not `tests`: a hook that failed is in `failures` only.
  PAWL_TRY(const auto found, for_each_json_item(report, {"passes", "pending", "failures"}, take));
  if (found.size() != 3)
    return fail(ErrorKind::kInvalid, "passes, pending and failures are not all in it, once");
  return tests.take();
}

}  // namespace pawl::gates::formats
