// A work on a project that is written down as a map of files, and the findings on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gates/policy/shadowing.h"
#include "plan/script.h"

namespace pawl::gates {

using Files = std::map<std::string, std::string>;

struct WorkOf {
  std::string command;
  Files base, changed;
  std::set<std::string> protected_files = {}, folders_of_new_tests = {};
};

inline bool has_file(const Files& files, const std::string& path) {
  return std::ranges::any_of(
      files, [&](const auto& file) { return file.first == path || file.first.starts_with(path + "/"); });
}

// The findings on the work's changes.
inline std::string findings_on(const WorkOf& of) {
  auto work = of.base;
  for (const auto& [path, text] : of.changed) work[path] = text;
  Shadows shadows{
      .was_there = [&](const std::string& path) { return has_file(of.base, path); },
      .is_protected = [&](const std::string& path) { return of.protected_files.contains(path); },
      .is_there = [&](const std::string& path) { return has_file(work, path); },
      .adds_tests = [&](const std::string& folder) { return of.folders_of_new_tests.contains(folder); }};
  const auto text = plan::text_of(plan::script_argv(plan::Shell::kBest, of.command));
  std::vector<std::string> listed;
  for (const auto& [path, content] : of.base) listed.push_back(path);
  shadows.base_files = [&]() -> const std::vector<std::string>& { return listed; };
  shadows.folders.add({text});
  shadows.targets.add({text});
  shadows.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  shadows.targets.is_protected = shadows.is_protected;
  shadows.targets.in_base = shadows.was_there;
  shadows.targets.in_work = shadows.is_there;
  const auto text_in = [](const Files& files) {
    return [&files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; };
  };
  shadows.targets.read_makefiles(shadows.folders.modules, text_in(of.base));
  shadows.targets.read_work(text_in(of.base), text_in(work));
  std::string out;
  for (const auto& [path, content] : of.changed) {
    FileChange change{.path = path};
    const auto version = [](const std::string& each) {
      return FileVersion{.size = static_cast<std::int64_t>(each.size()), .content = each};
    };
    if (of.base.contains(path)) change.before = version(of.base.at(path));
    change.after = version(content);
    std::int64_t number = 0;
    for (std::size_t at = 0; at < content.size();) {
      const auto end = std::min(content.find('\n', at), content.size());
      change.added.push_back({.number = ++number, .text = std::string_view(content).substr(at, end - at)});
      at = end + 1;
    }
    if (const auto words = shadowing(change, shadows); !words.empty()) out += path + ": " + words + "\n";
  }
  return out;
}

}  // namespace pawl::gates
