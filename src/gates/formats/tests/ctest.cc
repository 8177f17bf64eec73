// Test.xml, which `ctest -T Test` writes below Testing/ (cmake.org, ctest(1), "Dashboard Client").
#include <fmt/format.h>

#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

class CtestHandler final : public XmlHandler {
 public:
  explicit CtestHandler(const secrets::Redactor& redactor) : tests_(&redactor) {}

  Status start(std::string_view name, const XmlAttributes& attributes) override {
    if (name == "Testing") testing_seen_ = true;
    // The list of names at the start also has <Test> elements; these have no status.
    if (name == "Test") {
      status_ = attributes.get("Status");
      listed_ += status_.empty() ? 1 : 0;
      output_.clear();
    }
    if (name == "Name") name_.clear();
    in_name_ = name == "Name";
    if (name == "Measurement") in_measurement_ = true;
    const bool is_output = name == "Value" && in_measurement_;
    in_output_ = is_output && attributes.get("encoding").empty();
    if (is_output && !in_output_)
      output_ = "its output is compressed: `ctest -T Test --no-compress-output` writes it as it is";
    return {};
  }

  Status end(std::string_view name) override {
    if (name == "Name") in_name_ = false;
    if (name == "Value") in_output_ = false;
    if (name == "Measurement") in_measurement_ = false;
    if (name != "Test" || status_.empty()) return {};
    const auto status = std::exchange(status_, {});
    any_failed_ = any_failed_ || (status != "passed" && status != "notrun");
    return tests_.add("", name_,
                      status == "passed"   ? TestStatus::kPassed
                      : status == "notrun" ? TestStatus::kSkipped
                                           : TestStatus::kFailed,
                      output_);
  }

  void text(std::string_view piece) override {
    if (in_name_ && name_.size() <= kLookedAtMax) name_ += piece;
    if (in_output_ && output_.size() <= kLookedAtMax) output_ += piece;
  }

  Result<Report> result() {
    if (!testing_seen_) return fail(ErrorKind::kInvalid, "no <Testing> in it");
    if (listed_ > tests_.size()) {
      const auto why = fmt::format("{} tests are in its list, and {} have a result", listed_, tests_.size());
      if (!any_failed_) return fail(ErrorKind::kInvalid, why);
      // With --stop-on-failure CTest lists tests that it did not run.
      tests_.stopped_early(why, static_cast<std::int64_t>(listed_ - tests_.size()));
    }
    return tests_.take();
  }

 private:
  TestCollector tests_;
  std::string status_, name_, output_;
  std::size_t listed_ = 0;
  bool any_failed_ = false;
  bool in_name_ = false, in_measurement_ = false, in_output_ = false, testing_seen_ = false;
};

}  // namespace

Result<Report> ctest(ByteSource& report, const secrets::Redactor& redactor) {
  CtestHandler handler(redactor);
  PAWL_OK(read_xml(report, handler));
  return handler.result();
}

}  // namespace pawl::gates::formats
