#include "gates/policy/given_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/glob.h"
#include "gates/policy/script_programs.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Runners that take tests by the paths of their files.
constexpr auto kFileRunners = std::to_array<std::string_view>(
    {"ava",     "bun --test", "cucumber", "cucumber-js", "deno --test",   "go test",
     "jasmine", "jest",       "mocha",    "node --test", "nodejs --test", "nose2",
     "phpunit", "playwright", "prove",    "py.test",     "pytest",        "qunit",
     "rspec",   "tap",        "tape",     "uvu",         "vitest"});
// Folders in which they look without a path.
constexpr auto kUsualFolders = std::to_array<const char*>({"__tests__", "spec", "t", "test", "tests"});

struct Given {
  std::string runner, place;       // the folder in which it runs
  std::vector<std::string> paths;  // from the root, or patterns
  std::vector<std::string> maybe;  // as well, or values of options
  bool is_unknown = false;         // a variable or a command names its paths
};

// A path from the root; "" is the root.
std::string from_root(std::string place, std::string_view path) {
  if (path.ends_with("...")) path.remove_suffix(3);  // a wildcard of go
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    const auto part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == "..")
      place.resize(place.find('/') == place.npos ? 0 : place.rfind('/'));
    else if (!part.empty() && part != ".")
      place += (place.empty() ? "" : "/") + std::string(part);
  }
  return place;
}

bool is_pattern(std::string_view path) { return path.find_first_of("*?{[") != path.npos; }

// The folder before the first wildcard.
std::string fixed_part(std::string_view path) {
  const auto start = path.substr(0, path.find_first_of("*?{["));
  if (start.size() == path.size()) return std::string(path);
  const auto slash = start.rfind('/');
  return slash == start.npos ? "" : std::string(start.substr(0, slash));
}

bool is_command_of_runner(std::string_view runner, std::string_view word) {
  return is_any_of(runner, {"bun --test", "deno --test", "go test", "playwright", "vitest"}) &&
         is_any_of(word, {"run", "test", "watch"});
}

Given given_to(const std::string& runner, const std::string& place, std::string_view command,
               const HasPath& has) {
  Given out{.runner = runner, .place = place};
  const auto words = words_of_command(command);
  const auto name = std::string_view(runner).substr(0, runner.find(' '));
  auto word = std::ranges::find(words, name, program_name);
  for (word += word == words.end() ? 0 : 1; word != words.end(); ++word) {
    if (word->find_first_of("$`") != word->npos) out.is_unknown = true;
    if (word->starts_with('-') || is_command_of_runner(runner, *word) ||
        word->find_first_of("><=") != word->npos)
      continue;
    auto path = from_root(place, *word);
    // The word may be the value of an option.
    if (!(word - 1)->starts_with('-'))
      out.paths.push_back(std::move(path));
    else if (has(fixed_part(path)))
      out.maybe.push_back(std::move(path));
  }
  if (out.paths.empty()) out.paths = std::exchange(out.maybe, {});
  return out;
}

std::vector<Given> given_in(const std::vector<std::string>& commands, const HasPath& has) {
  std::vector<Given> out;
  std::string place;
  for (const auto& command : commands) {
    if (command.empty()) place.clear();
    const auto words = words_of_command(command);
    if (words.size() > 1 && is_any_of(words[0], {"cd", "pushd"})) place = from_root(place, words[1]);
    const auto runner = runner_of(command);
    if (std::ranges::find(kFileRunners, runner) != kFileRunners.end())
      out.push_back(given_to(runner, place, command, has));
  }
  return out;
}

bool is_in(std::string_view path, std::string_view folder) {
  return folder.empty() || path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

// Whether a path that a runner gets has what `path` stands for. A pattern may take any file of its folder, unless
// it is a narrower form of a pattern, or names files by more than their kind.
bool has_all(const std::string& given, const std::string& path) {
  if (!is_pattern(given)) return is_in(fixed_part(path), given) || given == path;
  if (!is_in(fixed_part(path), fixed_part(given))) return false;
  if (is_pattern(path)) return given == path || !glob_matches(path, given) || glob_matches(given, path);
  const auto last = name_of(given);
  return last.starts_with('*') || last.starts_with("test");
}

bool gets(const Given& now, const std::string& path) {
  if (now.is_unknown) return true;
  if (now.paths.empty()) return is_in(fixed_part(path), now.place);
  const auto has_it = [&](const auto& given) { return has_all(given, path); };
  return std::ranges::any_of(now.paths, has_it) || std::ranges::any_of(now.maybe, has_it);
}

}  // namespace

std::string path_left_out(const std::vector<std::string>& before, const std::vector<std::string>& after,
                          const HasPath& in_base, const HasPath& in_work) {
  if (before == after || !in_base || !in_work) return "";
  const auto now = given_in(after, in_work);
  for (auto& old : given_in(before, in_base)) {
    if (old.is_unknown || std::ranges::find(now, old.runner, &Given::runner) == now.end()) continue;
    if (old.paths.empty())
      for (const auto* folder : kUsualFolders) old.paths.push_back(from_root(old.place, folder));
    for (const auto& path : old.paths) {
      const auto place = fixed_part(path);
      const bool stays = place.empty() || (in_base(place) && in_work(place));
      if (stays && std::ranges::none_of(now, [&](const auto& each) { return gets(each, path); }))
        return fmt::format("does not give `{}` to `{}` any more", path.empty() ? "." : path, old.runner);
    }
  }
  return "";
}

}  // namespace pawl::gates
