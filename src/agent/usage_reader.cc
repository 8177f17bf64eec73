#include "agent/usage_reader.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pawl::agent {

#define PAWL_USAGE(name) ReadUsage name;
#include "usage_readers.inc"
#undef PAWL_USAGE

ReadUsage* usage_reader(std::string_view name) {
  using Named = std::pair<std::string_view, ReadUsage*>;
  static constexpr std::array kReaders = {
#define PAWL_USAGE(name) Named(#name, &(name)),
#include "usage_readers.inc"
#undef PAWL_USAGE
  };
  const auto found = std::ranges::find(kReaders, name, &Named::first);
  return found == kReaders.end() ? nullptr : found->second;
}

namespace {

constexpr std::string_view kUnknown = ".unknown";  // ends the id of such a report

}  // namespace

Usage unknown_usage(const std::string& sandbox_run_id, const std::string& source) {
  return {.id = sandbox_run_id + std::string(kUnknown), .source = source};
}

bool is_unknown(const Usage& usage) { return usage.source != kToldByAgent && usage.id.ends_with(kUnknown); }

}  // namespace pawl::agent
