#include "gates/policy/runner_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace pawl::gates {
namespace {

using Words = std::span<const std::string_view>;

// Names of the file, each with its folder where it counts in one only; keys of "KEY = VALUE", and words.
struct Settings {
  std::string_view tool;
  Words files, keys, words;
};

// doc.rust-lang.org/cargo/reference/config.html
constexpr std::string_view kCargoFiles[] = {".cargo/config", ".cargo/config.toml"};
constexpr std::string_view kCargoKeys[] = {"runner", "rustc", "rustdoc", "rustc-wrapper",
                                           "rustc-workspace-wrapper"};
// docs.npmjs.com/cli/v10/using-npm/config
constexpr std::string_view kNpmFiles[] = {".npmrc"};
constexpr std::string_view kNpmKeys[] = {"script-shell", "node-options", "shell"};
// maven.apache.org/configure.html, and Surefire's own properties
constexpr std::string_view kMavenFiles[] = {".mvn/maven.config", ".mvn/jvm.config"};
constexpr std::string_view kMavenWords[] = {"-fn",
                                            "--fail-never",
                                            "-Dmaven.test.failure.ignore",
                                            "-DtestFailureIgnore",
                                            "-DskipTests",
                                            "-Dmaven.test.skip",
                                            "-javaagent"};
constexpr Settings kSettings[] = {{"cargo", kCargoFiles, kCargoKeys, {}},
                                  {"npm", kNpmFiles, kNpmKeys, {}},
                                  {"Maven", kMavenFiles, {}, kMavenWords}};

bool is_called(std::string_view path, std::string_view name) {
  return path.ends_with(name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

const Settings* settings_of(std::string_view path) {
  for (const auto& each : kSettings)
    if (std::ranges::any_of(each.files, [&](auto name) { return is_called(path, name); })) return &each;
  return nullptr;
}

// Of "target.'cfg(unix)'.runner = x" and "{ runner = x }" the last part before the sign.
std::string_view key_before(std::string_view text) {
  constexpr std::string_view kAround = " \t'\"";
  while (!text.empty() && kAround.find(text.back()) != text.npos) text.remove_suffix(1);
  const auto start = text.find_last_of(" \t'\".{,") + 1;
  return text.substr(start);
}

std::string_view setting_in(std::string_view line, const Settings& of) {
  const auto first = line.find_first_not_of(" \t");
  if (first == line.npos || line[first] == '#' || line[first] == ';') return {};
  for (auto at = line.find('='); at != line.npos; at = line.find('=', at + 1))
    if (const auto key = key_before(line.substr(0, at)); std::ranges::find(of.keys, key) != of.keys.end())
      return key;
  for (const auto word : of.words) {
    const auto at = line.find(word);
    const auto end = at + word.size();
    if (at != line.npos && (at == 0 || line[at - 1] == ' ') &&
        (end == line.size() || std::string_view(" =:").find(line[end]) != std::string_view::npos))
      return word;
  }
  return {};
}

}  // namespace

bool has_runner_settings(std::string_view path) { return settings_of(path) != nullptr; }

std::string runner_setting(const FileChange& change) {
  const auto* settings = settings_of(change.path);
  if (settings == nullptr || !change.after) return "";
  for (const auto& line : change.added)
    if (const auto setting = setting_in(line.text, *settings); !setting.empty())
      return fmt::format("line {} sets `{}` of {}, which decides what runs in place of a test or a compiler",
                         line.number, setting, settings->tool);
  return "";
}

}  // namespace pawl::gates
