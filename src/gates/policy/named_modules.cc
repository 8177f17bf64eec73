#include "gates/policy/named_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/glob.h"
#include "gates/policy/library_names.h"
#include "gates/policy/runner_settings.h"
#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/stop_settings.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using FoundModules = std::set<std::string>;

constexpr auto kPluginFiles = std::to_array<std::string_view>(
    {".pytest.ini", ".pytest.toml", "pyproject.toml", "pytest.ini", "pytest.toml", "setup.cfg", "tox.ini"});
constexpr auto kRunnerFiles =
    std::to_array<std::string_view>({"jest.config.*", "package.json", "vite.config.*", "vitest.config.*"});
// Values of `runner` and `testRunner` that are installed packages.
constexpr auto kInstalledRunners = std::to_array<std::string_view>(
    {"@jest", "jasmine2", "jest-circus", "jest-jasmine2", "jest-light-runner", "jest-runner", "vitest"});

bool is_pytests(std::string_view path) {
  return std::ranges::find(kPluginFiles, name_of(path)) != kPluginFiles.end();
}
bool is_jests(std::string_view path) {
  return std::ranges::any_of(kRunnerFiles,
                             [&](auto pattern) { return glob_matches(pattern, name_of(path)); });
}

// The plugins that pytest loads by its settings.
FoundModules plugins_in(std::string_view content) {
  auto options = unquoted(addopts_in(without_comments(content)));
  std::ranges::replace_if(
      options, [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
  const auto words = words_in(options);
  FoundModules out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-') || words[i].starts_with("--")) continue;
    // Options that take no value may stand before it.
    const auto at = words[i].find_first_not_of("hlqsvx", 1);
    if (at == words[i].npos || words[i][at] != 'p') continue;
    auto name = words[i].substr(at + 1);
    if (name.empty() && i + 1 < words.size()) name = words[i + 1];
    if (name.starts_with('=')) name.remove_prefix(1);
    if (!name.empty() && !is_installed_plugin(name)) out.insert(fmt::format("-p {}", name));
  }
  return out;
}

std::string without_spaces_and_quotes(std::string_view content) {
  std::string out;
  for (const char c : without_comments(content))
    if (std::string_view(" \t\r\n'\"`").find(c) == std::string_view::npos) out += c;
  return out;
}

// More of a value is not read: a file of many keys would otherwise cost its size for each of them.
constexpr std::size_t kValueBytesMax = 300;

// Runners of the workspace, and modules that stand in for those of a test runner or an assertion library.
FoundModules replacements_in(std::string_view content, bool is_package) {
  const auto text = without_spaces_and_quotes(content);
  FoundModules out;
  for (const std::string_view key : {"testRunner:", "runner:"})
    for (auto at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      if (at > 0 && is_word(text[at - 1])) continue;
      const auto rest = std::string_view(text).substr(at + key.size(), kValueBytesMax);
      const auto value = rest.substr(0, rest.find_first_of(",}"));
      const bool is_installed =
          std::ranges::any_of(kInstalledRunners, [&](auto name) { return value.starts_with(name); });
      // A package.json may have a script or a package of the name `runner`.
      const bool is_own = value.starts_with('.') || value.starts_with('/') || value.starts_with("<rootDir>");
      if (is_own || (!is_installed && (key == "testRunner:" || !is_package)))
        out.insert(fmt::format("{} {}", key.substr(0, key.size() - 1), value));
    }
  for (const auto name : node_runners())
    for (const auto& pattern :
         {fmt::format("^{}$:", name), fmt::format("^{}:", name), fmt::format("{}$:", name),
          fmt::format("^{}(", name), fmt::format("find:{},replacement:", name)}) {
      const bool has_range = is_package && pattern.ends_with(':') && !pattern.ends_with("$:");
      if (!has_range && text.find(pattern) != text.npos)
        out.insert(fmt::format("another module for {}", name));
    }
  return out;
}

}  // namespace

bool may_name_modules(std::string_view path) { return is_pytests(path) || is_jests(path); }

std::string named_module(const FileChange& change) {
  if (!change.after || change.after->is_link || change.unread) return "";
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  FoundModules old, now;
  if (is_pytests(change.path)) {
    old = plugins_in(before);
    now = plugins_in(change.after->content);
  }
  if (is_jests(change.path)) {
    const bool is_package = name_of(change.path) == "package.json";
    old = replacements_in(before, is_package);
    now = replacements_in(change.after->content, is_package);
  }
  for (const auto& each : now)
    if (!old.contains(each))
      return fmt::format("sets `{}`, by which a test runner loads another module", each);
  return "";
}

}  // namespace pawl::gates
