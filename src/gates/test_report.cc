#include "gates/test_report.h"

#include <algorithm>

#include "gates/formats/format.h"

namespace pawl::gates {
namespace formats {
#define PAWL_FORMAT(name) Read name;
#include "test_formats.inc"
#undef PAWL_FORMAT
}  // namespace formats

namespace {

struct Format {
  std::string_view name;
  formats::Read* read;
};

constexpr Format kFormats[] = {
#define PAWL_FORMAT(name) {#name, formats::name},
#include "test_formats.inc"
#undef PAWL_FORMAT
};

}  // namespace

std::vector<std::string_view> test_formats() {
  std::vector<std::string_view> out;
  for (const auto& format : kFormats) out.push_back(format.name);
  return out;
}

Result<Tests> read_tests(std::string_view format, ByteSource& report) {
  const auto* found = std::ranges::find(kFormats, format, &Format::name);
  if (found == std::end(kFormats))
    return fail(ErrorKind::kNotFound, "there is no test report format \"" + std::string(format) + "\"");
  auto tests = found->read(report);
  if (!tests)
    return std::unexpected(std::move(tests).error().in("not a good " + std::string(format) + " report"));
  return tests;
}

}  // namespace pawl::gates
