// Test.xml, which `ctest -T Test` writes below Testing/ (cmake.org, ctest(1), "Dashboard Client").
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

class CtestHandler final : public XmlHandler {
 public:
  Status start(std::string_view name, const XmlAttributes& attributes) override {
    if (name == "Testing") testing_seen_ = true;
    // The list of names has elements <Test>, too, without a status.
    if (name == "Test") status_ = attributes.get("Status");
    if (name == "Name") name_.clear();
    in_name_ = name == "Name";
    return {};
  }

  Status end(std::string_view name) override {
    if (name == "Name") in_name_ = false;
    if (name != "Test" || status_.empty()) return {};
    const auto status = std::exchange(status_, {});
    return tests_.add("", name_,
                      status == "passed"   ? TestStatus::kPassed
                      : status == "notrun" ? TestStatus::kSkipped
                                           : TestStatus::kFailed);
  }

  void text(std::string_view piece) override {
    if (in_name_ && name_.size() <= 2 * kNameBytesMax) name_ += piece;
  }

  Result<Tests> result() {
    if (!testing_seen_) return fail(ErrorKind::kInvalid, "no <Testing> in it");
    return tests_.take();
  }

 private:
  TestCollector tests_;
  std::string status_, name_;
  bool in_name_ = false, testing_seen_ = false;
};

}  // namespace

Result<Tests> ctest(ByteSource& report) {
  CtestHandler handler;
  PAWL_OK(read_xml(report, handler));
  return handler.result();
}

}  // namespace pawl::gates::formats
