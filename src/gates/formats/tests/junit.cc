// JUnit XML as the tools write it: Ant and Surefire, pytest --junitxml, ctest --output-junit, GoogleTest,
// jest-junit, vitest and node --test with their junit reporters. There is no standard; the elements are those
// of the Ant task (ant.apache.org/manual/Tasks/junitreport.html).
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

class JunitHandler final : public XmlHandler {
 public:
  Status start(std::string_view name, const XmlAttributes& attributes) override {
    if (name == "testsuite" || name == "testsuites") suite_seen_ = true;
    if (name == "testcase") {
      in_test_ = true;
      // CTest says it in an attribute, the others in an element.
      const auto status = attributes.get("status");
      return tests_.add(attributes.get("classname"), attributes.get("name"),
                        status == "fail"                             ? TestStatus::kFailed
                        : status == "disabled" || status == "notrun" ? TestStatus::kSkipped
                                                                     : TestStatus::kPassed);
    }
    if (!in_test_) return {};
    if (name == "failure" || name == "error") {
      tests_.fail_last(attributes.get("message"));
    } else if (name == "skipped" && tests_.last().status == TestStatus::kPassed) {
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
