#include "base/glob.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pawl {
namespace {

// Matches one component with the two-pointer method: it goes back only to the last '*'.
bool component_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto head = path.substr(0, slash);
    if (!head.empty() && head != ".") out.push_back(head);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return out;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  const auto patterns = components(pattern);
  const auto parts = components(path);
  // matched[j]: the patterns so far match the first j components. Computed row by row: linear, never
  // exponential.
  std::vector<char> matched(parts.size() + 1, 0);
  matched[0] = 1;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::vector<char> next(parts.size() + 1, 0);
    if (patterns[i] == "**") {
      const bool last = i + 1 == patterns.size();
      bool reached = false;
      for (std::size_t j = 0; j <= parts.size(); ++j) {
        // A trailing "**" requires something below: "dir/**" does not match dir itself.
        next[j] = last ? reached : (reached || matched[j]);
        reached = reached || matched[j];
      }
    } else {
      for (std::size_t j = 1; j <= parts.size(); ++j)
        next[j] = matched[j - 1] && component_matches(patterns[i], parts[j - 1]);
    }
    matched = std::move(next);
  }
  return matched[parts.size()] != 0;
}

bool glob_covers(std::string_view pattern, std::string_view path) {
  if (glob_matches(pattern, path)) return true;
  const auto patterns = components(pattern);
  if (patterns.empty() || patterns.back().find_first_of("*?") != std::string_view::npos) return false;
  return glob_matches(std::string(pattern) + "/**", path);
}

bool any_covers(std::span<const std::string> patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return glob_covers(pattern, path); });
}

}  // namespace pawl
