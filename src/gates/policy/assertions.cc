#include "gates/policy/assertions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "base/glob.h"
#include "base/lines.h"
#include "gates/policy/cmake_commands.h"
#include "gates/policy/mentioned_tests.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr auto kHeaderEnds = std::to_array<std::string_view>({".h", ".h.in", ".hh", ".hpp", ".hxx", ".inc"});
// Files of flags that no rule on a build tool's own commands reads.
constexpr auto kFlagFiles = std::to_array<std::string_view>(
    {"BUILD", "BUILD.bazel", "Makefile.am", "SConstruct", "configure.ac", "configure.in", "meson.build",
     "meson.options", "meson_options.txt", "wscript", "*.bzl", "*.m4", "*.pri", "*.pro"});
constexpr auto kRustFiles =
    std::to_array<std::string_view>({"Cargo.toml", ".cargo/config", ".cargo/config.toml"});

bool is_header(std::string_view path) {
  return std::ranges::any_of(kHeaderEnds, [&](auto end) { return path.ends_with(end); });
}
bool has_flags(std::string_view path) {
  return std::ranges::any_of(kFlagFiles, [&](auto name) { return glob_matches(name, name_of(path)); });
}
bool is_of_rust(std::string_view path) {
  return std::ranges::any_of(kRustFiles, [&](auto name) {
    return path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '/');
  });
}

// The name that a line defines or undefines, and what it stands for. C11, 6.10
struct Directive {
  std::string_view word, name, rest;
};
Directive directive_in(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  Directive out{.word = line.substr(0, line.find_first_of(" \t"))};
  line = trimmed(line.substr(out.word.size()));
  out.name = line.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(line, is_word) - line.begin()));
  out.rest = line.substr(out.name.size());
  return out;
}

// Whether an assert() that stands for this checks nothing: it is empty, or a constant.
bool is_empty_check(std::string_view rest) {
  if (!rest.starts_with('(')) return false;
  const auto body = trimmed(rest.substr(std::min(rest.find(')'), rest.size() - 1) + 1));
  return body.empty() || body.starts_with("//") || body.starts_with("((void)") ||
         body.starts_with("(void)") || body == "0" || body == "1";
}

std::string off_in_header(std::string_view line) {
  const auto found = directive_in(line);
  if (found.word == "define" && found.name == "NDEBUG") return "NDEBUG";
  if (found.word == "undef" && found.name == "assert") return "assert";
  return found.word == "define" && found.name == "assert" && is_empty_check(found.rest) ? "assert" : "";
}

std::string off_in_flags(std::string_view line) {
  std::string low(line), compact;
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
  std::ranges::copy_if(low, std::back_inserter(compact),
                       [](char c) { return std::string_view(" \t'\"[").find(c) == std::string_view::npos; });
  if (low.find("release") != low.npos) return "";
  const bool is_set =
      compact.find("-dndebug") != compact.npos || compact.find("ac_define(ndebug") != compact.npos ||
      compact.find("b_ndebug=true") != compact.npos || compact.find("defines+=ndebug") != compact.npos;
  return is_set ? "NDEBUG" : "";
}

// `section`: the table of TOML that has the line.
std::string off_in_rust(std::string_view line, std::string_view section) {
  std::string compact;
  std::ranges::copy_if(line, std::back_inserter(compact),
                       [](char c) { return std::string_view(" \t'\",").find(c) == std::string_view::npos; });
  const auto has = [&](std::string_view text) { return compact.find(text) != compact.npos; };
  for (const std::string_view profile : {"release", "bench"})
    if (section.find(profile) != section.npos || compact.starts_with(profile)) return "";
  const bool is_off = has("debug-assertions=false") || has("debug-assertions=n") ||
                      has("debug-assertions=off") || has("debug-assertions=0");
  return is_off ? "debug-assertions" : "";
}

// How often a file switches each kind of assertions off.
std::map<std::string, int> switched_off_in(std::string_view path, std::string_view content) {
  std::map<std::string, int> out;
  std::string_view section;
  const auto text = is_header(path) ? std::string(content) : without_comments(content);
  for (const auto line : TextLines(text)) {
    if (trimmed(line).starts_with('[')) section = trimmed(line);
    auto found = is_header(path)   ? off_in_header(line)
                 : has_flags(path) ? off_in_flags(line)
                                   : off_in_rust(line, section);
    if (!found.empty()) ++out[std::move(found)];
  }
  return out;
}

bool is_cmake_list(std::string_view path) {
  return name_of(path) == "CMakeLists.txt" || path.ends_with(".cmake");
}

// How often CMake's files choose a build whose flags have NDEBUG.
std::ptrdiff_t builds_without_assert(std::string_view content) {
  return std::ranges::count_if(cmake_commands(content), [](const auto& each) {
    const auto& words = each.words;
    const bool names_type = !words.empty() &&
                            is_any_of(words[0], {"CMAKE_BUILD_TYPE", "CMAKE_BUILD_TYPE_INIT"}) &&
                            each.name == "set";
    return names_type && words.size() > 1 && is_any_of(words[1], {"MinSizeRel", "RelWithDebInfo", "Release"});
  });
}

// Whether a test of base includes <assert.h>.
bool tests_use_assert(const Shadows& shadows) {
  if (!shadows.base_files || !shadows.targets.base_text) return true;
  constexpr std::size_t kFilesMax = 2000;
  std::size_t count = 0;
  for (const auto& path : shadows.base_files()) {
    if (!is_test_source(path) || path.find(".c") == path.npos || ++count > kFilesMax) continue;
    const auto text = shadows.targets.base_text(path);
    if (text.find("assert.h") != text.npos || text.find("<cassert>") != text.npos) return true;
  }
  return count > kFilesMax;
}

std::string release_by_default(const FileChange& change, std::string_view before, const Shadows& shadows) {
  const bool is_chosen = std::ranges::any_of(shadows.targets.programs, [](const std::string& word) {
    return word.starts_with("-DCMAKE_BUILD_TYPE");
  });
  if (!shadows.targets.runs_cmake || is_chosen ||
      builds_without_assert(change.after->content) <= builds_without_assert(before) ||
      !tests_use_assert(shadows))
    return "";
  return "sets a build type with `NDEBUG`, with which assert() of tests checks nothing; a gate can run "
         "`cmake "
         "-DCMAKE_BUILD_TYPE=Debug`";
}

}  // namespace

bool may_switch_assertions_off(std::string_view path) {
  return is_header(path) || has_flags(path) || is_of_rust(path) || is_cmake_list(path);
}

std::string assertions_off(const FileChange& change, const Shadows& shadows) {
  if (!change.after || change.after->is_link || change.unread || !may_switch_assertions_off(change.path))
    return "";
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  if (is_cmake_list(change.path)) return release_by_default(change, before, shadows);
  const auto old = switched_off_in(change.path, before);
  for (const auto& [name, count] : switched_off_in(change.path, change.after->content))
    if (const auto known = old.find(name); known == old.end() || known->second < count)
      return fmt::format("sets `{}`, with which assertions of tests check nothing", name);
  return "";
}

}  // namespace pawl::gates
