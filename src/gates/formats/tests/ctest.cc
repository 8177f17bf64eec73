// Test.xml, which `ctest -T Test` writes below Testing/ (cmake.org, ctest(1), "Dashboard Client").
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/base64.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/text.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

// CTest keeps 300 KiB of the output of a failed test.
constexpr std::size_t kEncodedMax = 512 << 10;
// For all tests of a report: short texts may inflate to long ones.
constexpr std::size_t kDecodedMax = 64 << 20;
constexpr std::string_view kCompressed =
    "its output is compressed: `ctest -T Test --no-compress-output` writes it as it is";

// The first bytes of what CTest compressed. It says "gzip", and writes the format of zlib (RFC 1950).
// nullopt: the text is neither.
std::optional<std::string> inflated(std::string bytes) {
  constexpr int kAnyFormat = 15 + 32;  // zlib.h: the largest window; zlib's or gzip's header
  z_stream stream{};
  if (inflateInit2(&stream, kAnyFormat) != Z_OK) return std::nullopt;
  std::string out(2 * kLookedAtMax, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = inflate(&stream, Z_SYNC_FLUSH);
  inflateEnd(&stream);
  if (end != Z_STREAM_END && stream.avail_out > 0) return std::nullopt;
  return out.substr(0, stream.total_out);
}

std::string decoded(std::string_view text, std::string_view encoding, std::string_view compression) {
  if (encoding != "base64" || text.size() > kEncodedMax) return std::string(kCompressed);
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return trimmed({&c, 1}).size() == 1; });
  auto bytes = from_base64(digits);
  if (bytes && !compression.empty()) bytes = inflated(*std::move(bytes));
  return bytes.value_or(std::string(kCompressed));
}

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
    in_output_ = name == "Value" && in_measurement_;
    if (in_output_) {
      output_.clear();
      encoding_ = attributes.get("encoding");
      compression_ = attributes.get("compression");
    }
    return {};
  }

  Status end(std::string_view name) override {
    if (name == "Name") in_name_ = false;
    if (in_output_ && name == "Value") {
      in_output_ = false;
      if (!encoding_.empty() && status_ != "passed") {
        output_ = decoded_bytes_ > kDecodedMax ? std::string(kCompressed)
                                               : decoded(output_, encoding_, compression_);
        decoded_bytes_ += output_.size();
      }
    }
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
    const auto most = encoding_.empty() ? kLookedAtMax : kEncodedMax;
    if (in_output_ && output_.size() <= most) output_ += piece;
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
  std::string encoding_, compression_;  // the current output's
  std::size_t decoded_bytes_ = 0;
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
