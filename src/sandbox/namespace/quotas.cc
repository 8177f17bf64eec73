#include "sandbox/namespace/quotas.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

struct Counted {
  const char* of_namespace;  // below /proc/sys/user
  const char* of_machine;    // below /proc/sys/fs
};
constexpr Counted kCounted[] = {{"max_inotify_instances", "inotify/max_user_instances"},
                                {"max_inotify_watches", "inotify/max_user_watches"},
                                {"max_fanotify_groups", "fanotify/max_user_groups"},
                                {"max_fanotify_marks", "fanotify/max_user_marks"}};
constexpr std::uint64_t kNumberBytesMax = 64;

std::optional<std::int64_t> number_in(const std::string& path) {
  const auto text = os::read_file(path, kNumberBytesMax);
  std::int64_t out = 0;
  const bool is_number =
      text && std::from_chars(text->data(), text->data() + text->size(), out).ec == std::errc();
  return is_number ? std::optional(out) : std::nullopt;
}

}  // namespace

std::vector<NamespaceQuota> namespace_quotas() {
  std::vector<NamespaceQuota> out;
  for (const auto& [of_namespace, of_machine] : kCounted) {
    // This process may be in a nested user namespace. Its own number does not limit it then;
    // the machine's applies.
    const auto own = number_in(std::string("/proc/sys/user/") + of_namespace);
    const auto machine = number_in(std::string("/proc/sys/fs/") + of_machine);
    if (!own) continue;
    const std::int64_t may_have = std::min(*own, machine.value_or(*own));
    out.push_back({.file = of_namespace, .most = std::max<std::int64_t>(may_have / kQuotaPart, 1)});
  }
  return out;
}

}  // namespace pawl::sandbox
