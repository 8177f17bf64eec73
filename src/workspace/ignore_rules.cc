#include "workspace/ignore_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>

#include "base/lines.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kAnyFolders = "**";

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (const auto part : std::views::split(path, '/')) out.emplace_back(part.begin(), part.end());
  return out;
}

// Trailing spaces do not count, except a space with a backslash before it.
std::string_view without_spaces(std::string_view line) {
  while (line.ends_with(' ') && !(line.size() > 1 && line[line.size() - 2] == '\\')) line.remove_suffix(1);
  return line;
}

// "**" stands for any folders between names. At the end it stands for at least one name.
bool parts_match(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern.front() != kAnyFolders)
    return !path.empty() && fnmatch(pattern.front().c_str(), path.front().c_str(), 0) == 0 &&
           parts_match(pattern.subspan(1), path.subspan(1));
  if (pattern.size() == 1) return !path.empty();
  for (std::size_t skipped = 0; skipped <= path.size(); ++skipped)
    if (parts_match(pattern.subspan(1), path.subspan(skipped))) return true;
  return false;
}

}  // namespace

bool matches_parts(std::string_view pattern, std::string_view path) {
  return parts_match(parts_of(pattern), parts_of(path));
}

void IgnoreRules::add(const std::string& folder, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<Rule> rules;
  for (std::string_view line : TextLines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) continue;
    line = without_spaces(line);
    Rule rule{.negated = line.starts_with('!')};
    if (rule.negated) line.remove_prefix(1);
    rule.folders_only = line.ends_with('/');
    if (rule.folders_only) line.remove_suffix(1);
    if (line.empty()) continue;
    rule.any_depth = line.find('/') == std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    rule.parts = parts_of(line);
    rules.push_back(std::move(rule));
  }
  if (!rules.empty()) rules_[folder] = std::move(rules);
}

bool IgnoreRules::matches(const Rule& rule, std::string_view below) {
  if (rule.any_depth)
    return fnmatch(rule.parts.front().c_str(), std::string(below.substr(below.rfind('/') + 1)).c_str(), 0) ==
           0;
  return parts_match(rule.parts, parts_of(below));
}

// The last matching rule of the nearest file decides.
bool IgnoreRules::last_word(const std::string& path, bool is_folder) const {
  for (std::optional<std::string> folder = parent_of(path); folder;) {
    const auto found = rules_.find(*folder);
    const auto below = std::string_view(path).substr(folder->empty() ? 0 : folder->size() + 1);
    if (found != rules_.end())
      for (const auto& rule : found->second | std::views::reverse)
        if ((is_folder || !rule.folders_only) && matches(rule, below)) return !rule.negated;
    folder = folder->empty() ? std::nullopt : std::optional(parent_of(*folder));
  }
  return false;
}

bool IgnoreRules::folder_is_ignored(const std::string& path) {
  if (path.empty()) return false;
  if (const auto known = folders_.find(path); known != folders_.end()) return known->second;
  const bool ignored = folder_is_ignored(parent_of(path)) || last_word(path, true);
  folders_[path] = ignored;
  return ignored;
}

bool IgnoreRules::names(const std::string& path, bool is_folder) {
  return folder_is_ignored(parent_of(path)) || (is_folder ? folder_is_ignored(path) : last_word(path, false));
}

}  // namespace pawl::workspace
