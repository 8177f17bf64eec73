// libFuzzer's target for every reader of reports; PAWL_FUZZ_FORMAT says which. See scripts/fuzz.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "gates/report.h"
#include "secrets/redact.h"

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace)

// The same bytes in pieces of a few: a reader must not notice where one ends.
class SmallPieces final : public ByteSource {
 public:
  explicit SmallPieces(std::string_view bytes) : left_(bytes) {}
  Result<std::string_view> next() override {
    size_ = size_ % 7 + 1;
    const auto piece = left_.substr(0, size_);
    left_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view left_;
  std::size_t size_ = 0;
};

std::string format;

void check_name(const std::string& name, std::set<std::string_view>& names) {
  PAWL_CHECK(names.insert(name).second);
  PAWL_CHECK(name.size() <= gates::kNameBytesMax + 16);
  PAWL_CHECK(valid_utf8(name) == name);
}

void check(const gates::Report& report) {
  std::set<std::string_view> names;
  for (const auto& test : report.tests) {
    check_name(test.name, names);
    PAWL_CHECK(valid_utf8(test.message) == test.message);
    PAWL_CHECK(test.message.empty() || test.status == gates::TestStatus::kFailed);
  }
  for (const auto& finding : report.findings) check_name(finding.name, names);
  PAWL_CHECK(report.tests.empty() || report.findings.empty());
}

bool same_finding(const gates::Finding& a, const gates::Finding& b) {
  return a.name == b.name && a.severity == b.severity;
}

bool same(const gates::TestCase& a, const gates::TestCase& b) {
  return a.name == b.name && a.status == b.status && a.message == b.message;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): libFuzzer's names.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* wanted = std::getenv("PAWL_FUZZ_FORMAT");
  PAWL_CHECK(wanted != nullptr);
  format = wanted;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  MemorySource whole{std::string(text)};
  SmallPieces pieces(text);
  static const secrets::Redactor redactor(std::string(64, '0'), {});
  const auto one = gates::read_report(format, whole, redactor),
             other = gates::read_report(format, pieces, redactor);
  PAWL_CHECK(one || one.error().kind != ErrorKind::kNotFound);
  PAWL_CHECK(one.has_value() == other.has_value());
  if (!one) return 0;
  check(*one);
  PAWL_CHECK(std::ranges::equal(one->tests, other->tests, same));
  PAWL_CHECK(std::ranges::equal(one->findings, other->findings, same_finding));
  return 0;
}
// NOLINTEND(readability-identifier-naming)
