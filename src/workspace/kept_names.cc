// Decides which names a stored tree may have. Follows git's own rules for .git (path.c, utf8.c:
// is_ntfs_dotgit, is_hfs_dotgit), for each name with a meaning. They hold on every machine, because a layer
// made on one is applied on another.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json.h"
#include "os/file.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

// The characters that HFS+ ignores when it compares names, in UTF-8: U+200C to U+200F, U+202A to U+202E,
// U+206A to U+206F, and U+FEFF.
bool is_ignored(std::string_view character) {
  const auto is_between = [&](std::string_view first, std::string_view last) {
    return character >= first && character <= last;
  };
  return is_between("\xE2\x80\x8C", "\xE2\x80\x8F") || is_between("\xE2\x80\xAA", "\xE2\x80\xAE") ||
         is_between("\xE2\x81\xAA", "\xE2\x81\xAF") || character == "\xEF\xBB\xBF";
}

// The name as file systems without case compare it.
std::string compared(std::string_view name) {
  constexpr std::size_t kIgnoredBytes = 3;
  std::string out;
  while (!name.empty()) {
    if (is_ignored(name.substr(0, kIgnoredBytes))) {
      name.remove_prefix(kIgnoredBytes);
      continue;
    }
    const char c = name.front();
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    name.remove_prefix(1);
  }
  return out;
}

// In NTFS a stream of a file is the file, and trailing blanks and dots do not count.
std::string_view without_ntfs_end(std::string_view name) {
  name = name.substr(0, name.find(':'));
  while (name.ends_with(' ') || name.ends_with('.')) name.remove_suffix(1);
  return name;
}

constexpr std::size_t kShortStemBytes = 6;

// Short 8.3 names: the first letters, then a number. Where those are taken: some letters, a checksum of the
// name, then a number.
bool is_short_name(std::string_view name, std::string_view letters) {
  const auto tilde = name.find('~');
  if (tilde == std::string_view::npos || tilde == 0) return false;
  const auto stem = name.substr(0, tilde), number = name.substr(tilde + 1);
  // A long number replaces letters.
  const bool is_cut = letters.size() == kShortStemBytes && name.size() == kShortStemBytes + 2;
  return letters.starts_with(stem) && (stem == letters || is_cut) && !number.empty() &&
         number.front() != '0' && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

struct Meant {
  std::string_view name;
  std::array<std::string_view, 2> short_names;  // The second is git's (is_ntfs_dotgitmodules).
  bool is_kept = false;                         // Allowed in exactly this spelling.
};
constexpr Meant kMeant[] = {
    {".git", {"git"}}, {".pawl", {"pawl"}}, {".gitmodules", {"gitmod", "gi7eba"}, true}};

bool is_twin(std::string_view bare, const Meant& of) {
  return bare == of.name || std::ranges::any_of(of.short_names, [&](std::string_view letters) {
           return !letters.empty() && is_short_name(bare, letters);
         });
}

}  // namespace

bool is_kept_name(std::string_view name) {
  if (!os::is_safe_relative_path(name) || valid_utf8(name) != name) return false;
  for (std::size_t start = 0; start <= name.size();) {  // In NTFS a backslash separates like a slash.
    const auto end = std::min(name.find('\\', start), name.size());
    const std::string same = compared(name.substr(start, end - start));
    const auto bare = without_ntfs_end(same);
    start = end + 1;
    for (const auto& meant : kMeant)
      if (is_twin(bare, meant) && !(meant.is_kept && name == meant.name)) return false;
  }
  return true;
}

}  // namespace pawl::workspace
