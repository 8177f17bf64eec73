#include "gates/policy/mentioned_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/glob.h"
#include "base/lines.h"
#include "gates/policy/test_files.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

struct NamingFile {
  std::string_view pattern;
  std::string_view programs;  // that read it, between spaces
};
constexpr auto kNamingFiles =
    std::to_array<NamingFile>({{"CMakeLists.txt", " cmake ctest "},
                               {"*.cmake", " cmake ctest "},
                               {"Makefile.am", " automake autoreconf configure make "},
                               {"GNUmakefile", " make gmake "},
                               {"Makefile", " make gmake "},
                               {"Makefile.in", " make gmake "},
                               {"makefile", " make gmake "},
                               {"*.mk", " make gmake "},
                               {"meson.build", " meson ninja "},
                               {"justfile", " just "}});
// Words by which such files find tests by their names, or have other files and functions name them.
constexpr auto kFinders =
    std::to_array<std::string_view>({"GLOB", "GLOB_RECURSE", "SUBDIRS", "add_subdirectory", "find", "foreach",
                                     "function", "include", "macro", "patsubst", "subdir", "wildcard"});
constexpr auto kTestEnds = std::to_array<std::string_view>(
    {".c", ".cc", ".cpp", ".cxx", ".go", ".js", ".pl", ".py", ".rs", ".sh", ".t", ".ts"});

std::string_view stem_of(std::string_view path) {
  const auto name = name_of(path);
  return name.substr(0, std::max<std::size_t>(name.find('.'), 1));
}

using Counts = std::map<std::string, int, std::less<>>;

// How often a text has each word without folder and ending. `finders`: the words that find tests, and patterns.
Counts words_in_text(std::string_view content, int& finders) {
  Counts out;
  for (const auto each : TextLines(content)) {
    const auto line = each.substr(0, each.find('#'));
    for (std::size_t at = 0; at < line.size();) {
      const auto is_part = [](char c) {
        return is_word(c) || std::string_view("./+-").find(c) != std::string_view::npos;
      };
      auto end = at;
      while (end < line.size() && is_part(line[end])) ++end;
      if (end > at) {
        const auto word = line.substr(at, end - at);
        if (std::ranges::find(kFinders, word) != kFinders.end()) ++finders;
        ++out[std::string(stem_of(word))];
      } else if (line[end] == '%' || line[end] == '*') {
        ++finders;
      }
      at = std::max(end, at + 1);
    }
  }
  return out;
}

const NamingFile* naming_file(std::string_view path) {
  const auto* found = std::ranges::find_if(
      kNamingFiles, [&](const auto& file) { return glob_matches(file.pattern, name_of(path)); });
  return found == kNamingFiles.end() ? nullptr : found;
}

// The names of base's code that is no test, without folders and endings.
std::set<std::string, std::less<>> other_code(const std::vector<std::string>& files) {
  std::set<std::string, std::less<>> out;
  for (const auto& path : files)
    if (!is_test_source(path)) out.emplace(stem_of(path));
  return out;
}

}  // namespace

bool is_test_source(std::string_view path) {
  if (std::ranges::none_of(kTestEnds, [&](auto end) { return path.ends_with(end); })) return false;
  const auto stem = stem_of(path);
  return stem.starts_with("test") || stem.ends_with("test") || stem.ends_with("tests") || is_test_file(path);
}

bool may_name_tests(std::string_view path) { return naming_file(path) != nullptr; }

std::string unnamed_test(const FileChange& change, const Shadows& shadows) {
  const auto* file = naming_file(change.path);
  if (file == nullptr || !change.before || !change.after || change.before->is_link || change.after->is_link ||
      change.unread || !shadows.base_files || !shadows.is_there)
    return "";
  const bool is_read = std::ranges::any_of(shadows.targets.programs, [&](const std::string& program) {
    return file->programs.find(" " + program + " ") != std::string_view::npos;
  });
  if (!is_read) return "";
  int finders = 0, finders_now = 0;
  const auto before = words_in_text(change.before->content, finders),
             now = words_in_text(change.after->content, finders_now);
  if (finders_now > finders) return "";
  // A word that can mean something else says nothing.
  const auto others = other_code(shadows.base_files());
  constexpr auto kUsual = std::to_array<std::string_view>({"all", "check", "main", "run", "test", "tests"});
  for (const auto& path : shadows.base_files()) {
    const auto stem = stem_of(path);
    const auto old = before.find(stem);
    if (old == before.end() || !is_test_source(path) || others.contains(stem) ||
        std::ranges::find(kUsual, stem) != kUsual.end())
      continue;
    const auto kept = now.find(stem);
    if ((kept == now.end() || kept->second < old->second) && shadows.is_there(path))
      return fmt::format("names the test `{}` less often than before", path);
  }
  return "";
}

}  // namespace pawl::gates
