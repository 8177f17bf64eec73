#include "gates/policy/pytest_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/lines.h"
#include "gates/policy/given_paths.h"
#include "gates/policy/runner_settings.h"
#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/stop_settings.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

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

// The command with the folders of `testpaths`, which go on in lines that are indented or inside brackets.
std::string command_of_paths(std::string_view content) {
  const auto text = without_comments(content);
  std::string out = "pytest";
  bool is_inside = false;
  for (const auto each : TextLines(text)) {
    auto line = std::string(trimmed(each));
    const auto sign = line.find_first_of("=:");
    const bool begins = line.starts_with("testpaths") && sign != line.npos;
    is_inside = begins || (is_inside && !line.empty() &&
                           (each.starts_with(' ') || each.starts_with('\t') || line.starts_with(']')));
    if (!is_inside) continue;
    if (begins) line.erase(0, sign + 1);
    std::ranges::replace_if(
        line, [](char c) { return std::string_view("[],'\"").find(c) != std::string_view::npos; }, ' ');
    for (const auto path : words_in(line)) out.append(" ").append(path);
  }
  return out;
}

}  // namespace

std::string pytest_choice(const FileChange& change, const Shadows& shadows) {
  constexpr auto kFiles = std::to_array<std::string_view>(
      {".pytest.ini", ".pytest.toml", "pyproject.toml", "pytest.ini", "pytest.toml", "setup.cfg", "tox.ini"});
  if (!change.after || change.after->is_link || change.unread ||
      std::ranges::find(kFiles, name_of(change.path)) == kFiles.end())
    return "";
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  const auto old = choices_in(before);
  for (const auto& each : choices_in(change.after->content))
    if (!old.contains(each)) return fmt::format("sets `{}`, by which pytest takes fewer tests", each);
  // pytest takes `testpaths` in the root only.
  const auto paths = command_of_paths(change.after->content);
  if (paths == "pytest" || change.path.find('/') != change.path.npos) return "";
  return path_left_out({command_of_paths(before)}, {paths}, shadows.was_there, shadows.is_there);
}

}  // namespace pawl::gates
