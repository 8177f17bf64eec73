// JUnit XML as the tools write it: Ant and Surefire, pytest --junitxml, ctest --output-junit, GoogleTest,
// jest-junit, vitest and node --test with their junit reporters. There is no standard; the elements are those
// of the Ant task (ant.apache.org/manual/Tasks/junitreport.html).
#include <algorithm>
#include <cctype>

#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](const auto known) {
    return std::ranges::equal(word, known, {},
                              [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  });
}

// The status that an attribute names. CTest writes `status`, GoogleTest writes `status` and, since 1.8.1,
// `result` (docs/advanced.md, "Generating an XML Report"); most other tools write an element.
TestStatus status_of(std::string_view word) {
  if (is_one_of(word, {"fail", "failed", "failure", "error"})) return TestStatus::kFailed;
  if (is_one_of(word, {"skip", "skipped", "disabled", "notrun", "suppressed", "ignored", "pending", "todo"}))
    return TestStatus::kSkipped;
  return TestStatus::kPassed;
}

class JunitHandler final : public XmlHandler {
 public:
  Status start(std::string_view name, const XmlAttributes& attributes) override {
    if (name == "testsuite" || name == "testsuites") suite_seen_ = true;
    if (name == "testcase") {
      in_test_ = true;
      const auto status = status_of(attributes.get("status")), result = status_of(attributes.get("result"));
      return tests_.add(attributes.get("classname"), attributes.get("name"),
                        status == TestStatus::kPassed ? result : status);
    }
    if (!in_test_) return {};
    if (name == "failure" || name == "error") {
      tests_.fail_last(attributes.get("message"));
    } else if (is_one_of(name, {"skipped", "skip", "ignored", "disabled"}) &&
               tests_.last().status == TestStatus::kPassed) {
      tests_.last().status = TestStatus::kSkipped;
    }
    return {};
  }

  Status end(std::string_view name) override {
    if (name == "testcase") in_test_ = false;
    return {};
  }

  Result<Tests> result() {
    if (!suite_seen_) return fail(ErrorKind::kInvalid, "no <testsuite> in it");
    return tests_.take();
  }

 private:
  TestCollector tests_;
  bool in_test_ = false, suite_seen_ = false;
};

}  // namespace

Result<Tests> junit(ByteSource& report) {
  JunitHandler handler;
  PAWL_OK(read_xml(report, handler));
  return handler.result();
}

}  // namespace pawl::gates::formats
