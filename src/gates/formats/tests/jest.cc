// `jest --json --outputFile`, and Vitest's reporter of the name json, which writes the same
// (jestjs.io/docs/cli, "--json"). Tests are named "file::describe > test".
#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

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

Status add_file(TestCollector& tests, const Json& file) {
  const std::string path = text_in(file, "name");
  const auto group = inside_workspace(path);
  bool failed_by_a_test = false;
  const auto of_file = file.find("assertionResults");
  if (of_file == file.end() || !of_file->is_array())
    return fail(ErrorKind::kInvalid, "a file without assertionResults");
  for (const auto& test : *of_file) {
    const std::string status = text_in(test, "status");
    const bool failed = status == "failed";
    failed_by_a_test = failed_by_a_test || failed;
    PAWL_OK(tests.add(group, title_of(test),
                      failed               ? TestStatus::kFailed
                      : status == "passed" ? TestStatus::kPassed
                                           : TestStatus::kSkipped,
                      first_message(test)));
  }
  // One that could not be loaded has no tests to say so.
  if (text_in(file, "status") == "failed" && !failed_by_a_test)
    return tests.add("", group, TestStatus::kFailed, text_in(file, "message"));
  return {};
}

}  // namespace

Result<Tests> jest(ByteSource& report) {
  TestCollector tests;
  PAWL_TRY(const auto found,
           for_each_json_item(report, {"testResults"},
                              [&](std::string_view, const Json& file) { return add_file(tests, file); }));
  if (found.empty()) return fail(ErrorKind::kInvalid, "no testResults in it");
  return tests.take();
}

}  // namespace pawl::gates::formats
