#include "gates/policy/python_hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/lines.h"
#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// docs.pytest.org/en/stable/reference/reference.html, "Hooks": those that run a test, or say how it or the session
// ended. A hook that collects tests, adds options or sets a test up loses no failure: an inventory has the names.
constexpr auto kHooks = std::to_array<std::string_view>(
    {"pytest_cmdline_main", "pytest_pyfunc_call", "pytest_report_teststatus", "pytest_runtest_call",
     "pytest_runtest_logreport", "pytest_runtest_makereport", "pytest_runtest_protocol", "pytest_runtestloop",
     "pytest_sessionfinish"});
constexpr std::string_view kEnd = "os._exit";  // ends the process before pytest says its exit code
constexpr std::size_t kPluginBytesMax = 4096;  // for one assignment

bool is_conftest(std::string_view path) { return path == "conftest.py" || path.ends_with("/conftest.py"); }

// A name of Python, also as an attribute's first part; not the attribute of another object.
bool has_name(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool begins = at == 0 || (!is_word(line[at - 1]) && line[at - 1] != '.');
    if (begins && (end == line.size() || !is_word(line[end]))) return true;
  }
  return false;
}

// A quoted name counts, too: `globals()["pytest_pyfunc_call"] = f`.
std::string_view hook_in(std::string_view line) {
  const auto code = line.substr(0, line.find('#'));
  for (const auto hook : kHooks)
    if (has_name(code, hook)) return hook;
  return has_name(code, kEnd) || has_name(code, "from os import _exit") ? kEnd : std::string_view();
}

std::string_view hook_in_text(std::string_view text) {
  for (const auto line : TextLines(text))
    if (const auto hook = hook_in(line); !hook.empty()) return hook;
  return {};
}

// The quoted words of a list, or of the rest of a line.
std::vector<std::string> quoted_in(std::string_view text) {
  text = text.substr(0, kPluginBytesMax);
  const auto open = text.find_first_of("[(\n");
  const bool is_list = open != text.npos && text[open] != '\n';
  text = text.substr(0, is_list ? text.find_first_of("])", open) : open);
  std::vector<std::string> out;
  while (true) {
    const auto start = text.find_first_of("'\"");
    if (start == text.npos) return out;
    const auto end = text.find(text[start], start + 1);
    if (end == text.npos) return out;
    out.emplace_back(text.substr(start + 1, end - start - 1));
    text.remove_prefix(end + 1);
  }
}

// Names of modules as Python writes them, with dots at their start where they are relative.
std::vector<std::string> modules_in(std::string_view content) {
  constexpr std::string_view kKey = "pytest_plugins";
  std::vector<std::string> out;
  for (auto at = content.find(kKey); at != content.npos; at = content.find(kKey, at + 1))
    for (auto& name : quoted_in(content.substr(at + kKey.size())))
      if (!is_installed_plugin(name)) out.push_back(std::move(name));
  for (const auto line : TextLines(content)) {
    const auto words = words_in(line);
    if (words.size() == 4 && words[0] == "from" && words[2] == "import" && words[3] == "*")
      out.emplace_back(words[1]);
  }
  return out;
}

// The places of a module, without the end of its name.
std::vector<std::string> places_of(std::string name, std::string_view folder) {
  std::string inside(folder);
  const bool is_relative = name.starts_with('.');
  if (is_relative) name.erase(0, 1);
  while (name.starts_with('.')) {
    name.erase(0, 1);
    inside = std::string(folder_of(inside));
  }
  std::ranges::replace(name, '.', '/');
  std::vector<std::string> out = {inside.empty() ? name : inside + "/" + name};
  if (!is_relative)
    for (const std::string_view root : {"", "src/", "lib/", "tests/", "test/"})
      out.push_back(std::string(root) + name);
  return out;
}

}  // namespace

std::set<std::string> own_plugins(std::string_view path, std::string_view content,
                                  const std::function<bool(const std::string& path)>& is_there) {
  std::set<std::string> out;
  for (auto& name : modules_in(content))
    for (const auto& place : places_of(std::move(name), folder_of(path)))
      for (const auto* end : {".py", "/__init__.py"})
        if (is_there(place + end)) out.insert(place + end);
  return out;
}

bool may_have_hooks(std::string_view path, const std::set<std::string>& plugins) {
  return is_conftest(path) || plugins.contains(std::string(path));
}

std::string forging_hook(const FileChange& change, const std::set<std::string>& plugins,
                         const std::function<std::string(const std::string& path)>& text_at) {
  if (!change.after || !may_have_hooks(change.path, plugins)) return "";
  if (change.after->is_link || change.unread) return "is loaded by pytest, and is not read";
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  std::set<std::string_view> known;  // lines may move
  for (const auto line : TextLines(before)) known.insert(trimmed(line));
  for (const auto& line : change.added)
    if (const auto hook = hook_in(line.text); !hook.empty() && !known.contains(trimmed(line.text)))
      return fmt::format("line {} has `{}`, by which it decides what pytest says of a test", line.number,
                         hook);
  if (!is_conftest(change.path) || !text_at) return "";
  const auto is_there = [&](const std::string& path) { return !text_at(path).empty(); };
  const auto old = own_plugins(change.path, before, is_there);
  for (const auto& plugin : own_plugins(change.path, change.after->content, is_there))
    if (const auto hook = hook_in_text(text_at(plugin)); !hook.empty() && !old.contains(plugin))
      return fmt::format("has pytest load {} as a plugin, which has `{}`", plugin, hook);
  return "";
}

}  // namespace pawl::gates
