#include "gates/policy/pytest_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/lines.h"
#include "gates/policy/given_paths.h"
#include "gates/policy/path_patterns.h"
#include "gates/policy/runner_settings.h"
#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/stop_settings.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr auto kPytestSettings = std::to_array<std::string_view>(
    {".pytest.ini", ".pytest.toml", "pyproject.toml", "pytest.ini", "pytest.toml", "setup.cfg", "tox.ini"});

// The command that pytest's option `addopts` stands for.
std::string command_of_addopts(std::string_view content) {
  auto options = unquoted(addopts_in(without_comments(content)));
  std::ranges::replace_if(
      options, [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
  return "pytest " + options;
}

// The options of addopts by which fewer tests run. A marker (-m) is free: the signal `tests` tells which tests run no
// more. Plugins are another rule's.
std::set<std::string> choices_in(std::string_view content) {
  auto out = steering_in(command_of_addopts(content));
  std::erase_if(out, [](std::string_view each) {
    const bool ignores_other = each.starts_with("--ignore") && each.find("test") == each.npos;
    return each.starts_with("-m") || each.starts_with("-p") || ignores_other;
  });
  return out;
}

// The values of a setting, which go on in lines that are indented or inside brackets. nullopt: it is not set.
std::optional<std::vector<std::string>> values_of_ini(std::string_view content, std::string_view key) {
  const auto text = without_comments(content);
  std::optional<std::vector<std::string>> out;
  bool is_inside = false;
  for (const auto each : TextLines(text)) {
    auto line = std::string(trimmed(each));
    const auto sign = line.find_first_of("=:");
    const bool begins = sign != line.npos && trimmed(std::string_view(line).substr(0, sign)) == key;
    is_inside = begins || (is_inside && !line.empty() &&
                           (each.starts_with(' ') || each.starts_with('\t') || line.starts_with(']')));
    if (!is_inside) continue;
    if (!out) out.emplace();
    if (begins) line.erase(0, sign + 1);
    std::ranges::replace_if(
        line, [](char c) { return std::string_view("[],'\"").find(c) != std::string_view::npos; }, ' ');
    for (const auto word : words_in(line)) out->emplace_back(word);
  }
  return out;
}

// The command with the folders of `testpaths`.
std::string command_of_paths(std::string_view content) {
  std::string out = "pytest";
  for (const auto& path : values_of_ini(content, "testpaths").value_or(std::vector<std::string>()))
    out += " " + path;
  return out;
}

std::vector<PathPattern> patterns_of_ini(std::string_view content, std::string_view key,
                                         std::vector<std::string> defaults) {
  std::vector<PathPattern> out;
  for (const auto& text : values_of_ini(content, key).value_or(std::move(defaults)))
    if (auto pattern = PathPattern::fnmatch(text)) out.push_back(*std::move(pattern));
  return out;
}

bool any_fits(const std::vector<PathPattern>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return pattern.matches(text); });
}

// The choice of tests by settings: files by their names and folders, classes and functions by their names.
class TakenByPytest {
 public:
  explicit TakenByPytest(std::string_view content)
      : files_(patterns_of_ini(content, "python_files", {"test_*.py", "*_test.py"})),
        left_folders_(
            patterns_of_ini(content, "norecursedirs",
                            {"*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv"})),
        classes_(names(content, "python_classes", "Test")),
        functions_(names(content, "python_functions", "test")) {
    const auto command = command_of_addopts(content);
    const auto words = words_in(command);
    constexpr std::string_view kIgnores = "--ignore-glob";
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].starts_with(kIgnores)) continue;
      const auto rest = words[i].substr(kIgnores.size());
      const auto text = rest.starts_with('=') ? rest.substr(1) : i + 1 < words.size() ? words[i + 1] : rest;
      if (auto pattern = PathPattern::fnmatch(text)) left_.push_back(*std::move(pattern));
    }
  }

  // `path`: from the folder of the settings.
  bool has_file(std::string_view path) const {
    const bool is_named = any_fits(files_, name_of(path)) || any_fits(files_, path);
    if (!path.ends_with(".py") || !is_named || any_fits(left_, path)) return false;
    for (auto folder = folder_of(path); !folder.empty(); folder = folder_of(folder))
      if (any_fits(left_folders_, name_of(folder))) return false;
    return true;
  }
  bool has_class(std::string_view name) const { return any_fits(classes_, name); }
  bool has_function(std::string_view name) const { return any_fits(functions_, name); }

 private:
  // A name without a wildcard is the beginning of one.
  static std::vector<PathPattern> names(std::string_view content, std::string_view key, const char* usual) {
    std::vector<PathPattern> out;
    for (const auto& text : values_of_ini(content, key).value_or(std::vector<std::string>{usual}))
      if (auto pattern = PathPattern::fnmatch(text.find_first_of("*?[") == text.npos ? text + "*" : text))
        out.push_back(*std::move(pattern));
    return out;
  }

  std::vector<PathPattern> files_, left_folders_, left_, classes_, functions_;
};

// The name behind `keyword` of a line that defines something.
std::string_view defined_by(std::string_view line, std::string_view keyword) {
  line = trimmed(line);
  if (line.starts_with("async ")) line = trimmed(line.substr(6));
  if (!line.starts_with(keyword)) return {};
  line = trimmed(line.substr(keyword.size()));
  const auto end = std::ranges::find_if_not(line, is_word);
  return line.substr(0, static_cast<std::size_t>(end - line.begin()));
}

// A test in the text of a file that `now` does not take by its name, and `old` does.
std::string_view lost_name(std::string_view text, const TakenByPytest& old, const TakenByPytest& now) {
  for (const auto line : TextLines(text)) {
    if (const auto name = defined_by(line, "class ");
        !name.empty() && old.has_class(name) && !now.has_class(name))
      return name;
    const auto name = defined_by(line, "def ");
    if (!name.empty() && old.has_function(name) && !now.has_function(name)) return name;
  }
  return {};
}

// The settings of base that `change` replaces: those of the same file, else those of another one beside it.
std::string settings_before(const FileChange& change, const Shadows& shadows) {
  if (change.before) return change.before->is_link ? std::string() : std::string(change.before->content);
  std::string out;
  const auto folder = change.path.substr(0, change.path.size() - name_of(change.path).size());
  for (const auto file : kPytestSettings)
    if (shadows.targets.base_text) out += shadows.targets.base_text(folder + std::string(file)) + "\n";
  return out;
}

std::string left_out_of_pytest(const FileChange& change, const Shadows& shadows) {
  const TakenByPytest old(settings_before(change, shadows)), now(change.after->content);
  const auto folder = change.path.substr(0, change.path.size() - name_of(change.path).size());
  for (const auto& path : shadows.base_files()) {
    if (!path.starts_with(folder) || !old.has_file(std::string_view(path).substr(folder.size()))) continue;
    if (shadows.is_there && !shadows.is_there(path)) continue;
    if (!now.has_file(std::string_view(path).substr(folder.size())))
      return fmt::format("leaves `{}` out of what pytest takes for tests", path);
    const auto text = shadows.targets.base_text ? shadows.targets.base_text(path) : "";
    if (const auto name = lost_name(text, old, now); !name.empty())
      return fmt::format("leaves `{}` in `{}` out of what pytest takes for tests", name, path);
  }
  return "";
}

// Whether the settings of a file choose tests by names.
bool chooses_names(std::string_view content) {
  constexpr auto kKeys = std::to_array<std::string_view>(
      {"--ignore-glob", "norecursedirs", "python_classes", "python_files", "python_functions"});
  return std::ranges::any_of(kKeys, [&](auto key) { return content.find(key) != content.npos; });
}

}  // namespace

std::string pytest_choice(const FileChange& change, const Shadows& shadows) {
  if (!change.after || change.after->is_link || change.unread ||
      std::ranges::find(kPytestSettings, name_of(change.path)) == kPytestSettings.end())
    return "";
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  const auto old = choices_in(before);
  for (const auto& each : choices_in(change.after->content))
    if (!old.contains(each)) return fmt::format("sets `{}`, by which pytest takes fewer tests", each);
  if (shadows.base_files && (chooses_names(before) || chooses_names(change.after->content)))
    if (auto words = left_out_of_pytest(change, shadows); !words.empty()) return words;
  // pytest takes `testpaths` in the root only.
  const auto paths = command_of_paths(change.after->content);
  if (paths == "pytest" || change.path.find('/') != change.path.npos) return "";
  return path_left_out({command_of_paths(before)}, {paths}, shadows.was_there, shadows.is_there);
}

}  // namespace pawl::gates
