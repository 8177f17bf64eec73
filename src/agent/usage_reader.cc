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

}  // namespace pawl::agent
