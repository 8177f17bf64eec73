#include "gates/policy/run_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/lines.h"
#include "gates/policy/build_files.h"
#include "gates/policy/package_scripts.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/policy/weakened_make.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// In the order in which make looks for them.
constexpr auto kMakefiles = std::to_array<const char*>({"GNUmakefile", "makefile", "Makefile"});

// Whether an option of make or npm has its value in the next word.
bool takes_value(std::string_view option) {
  return is_any_of(
      option, {"-C", "-f", "--directory", "--file", "--makefile", "-I", "--include-dir", "-o", "--old-file",
               "-W", "--what-if", "--prefix", "-w", "--workspace", "--filter", "-F", "--cwd", "--dir"});
}

// Why a wrapper is not one any more. `marks`: texts that the wrappers of all versions have.
std::string weakened_wrapper(const FileChange& change, std::string_view tool,
                             std::initializer_list<std::string_view> marks) {
  const auto has_mark = [&](std::string_view text) {
    return std::ranges::any_of(marks, [&](const auto mark) { return text.find(mark) != text.npos; });
  };
  const bool was = has_mark(change.before->content), is = has_mark(change.after->content);
  return was && !is ? fmt::format("is no wrapper of {} any more", tool) : "";
}

// The host in a line such as "distributionUrl=https\://services.gradle.org/distributions/x.zip".
std::string host_in(std::string_view properties, std::string_view key) {
  for (const auto each : TextLines(properties)) {
    const auto line = trimmed(each);
    const auto slashes = line.find("//");
    if (!line.starts_with(key) || slashes == line.npos) continue;
    const auto host = line.substr(slashes + 2, line.find('/', slashes + 2) - slashes - 2);
    return std::string(host.substr(host.rfind('@') + 1));  // without a password before it
  }
  return "";
}

std::string weakened_properties(const FileChange& change) {
  for (const auto* key : {"distributionUrl", "wrapperUrl"}) {
    const auto before = host_in(change.before->content, key), after = host_in(change.after->content, key);
    const bool known = is_any_of(after, {"services.gradle.org", "downloads.gradle.org",
                                         "repo.maven.apache.org", "repo1.maven.org", "github.com"});
    if (!before.empty() && before != after && !known)
      return fmt::format("fetches the build tool from {}, no more from {}", after.empty() ? "nowhere" : after,
                         before);
  }
  return "";
}

// Whether a command of tox has no part in the result: it handles files, or what coverage measured.
bool only_keeps_house(std::string_view command) {
  const auto words = words_in(command);
  const bool is_coverage = words.size() > 1 && words[0] == "coverage" &&
                           is_any_of(words[1], {"combine", "erase", "html", "report", "xml"});
  return is_coverage || is_housekeeping(command);
}

// The number of lines such as "- pytest" in tox.ini: tox continues when such a command fails.
std::int64_t ignored_commands(std::string_view ini) {
  std::int64_t out = 0;
  for (const auto each : TextLines(ini)) {
    auto line = trimmed(each);
    if (const auto sign = line.find('='); line.starts_with("commands") && sign != line.npos)
      line = trimmed(line.substr(sign + 1));
    out += line.starts_with("- ") && !only_keeps_house(trimmed(line.substr(2))) ? 1 : 0;
  }
  return out;
}

// The commands of each part of tox.ini, one a line.
std::map<std::string, std::string, std::less<>> commands_of_tox(std::string_view ini) {
  std::map<std::string, std::string, std::less<>> out;
  std::string part;
  bool in_commands = false;
  for (const auto line : TextLines(ini)) {
    auto text = trimmed(line);
    if (text.empty() || text.starts_with('#') || text.starts_with(';')) continue;
    if (line.front() != ' ' && line.front() != '\t') {
      in_commands = false;
      if (text.starts_with('[')) {
        part = text;
        continue;
      }
      const auto sign = text.find('=');
      in_commands = sign != text.npos && trimmed(text.substr(0, sign)) == "commands";
      if (in_commands) text = trimmed(text.substr(sign + 1));
    }
    if (in_commands) out[part] += std::string(text) + "\n";
  }
  return out;
}

// Whether a gate's command or a recipe names tox.
bool may_run_tox(const RunTargets& targets) {
  return targets.programs.contains("tox") || std::ranges::any_of(targets.makes, [](const auto& make) {
           return std::ranges::any_of(make.base.rules, [](const auto& each) {
             return std::ranges::any_of(each.second.recipe, [](const auto& line) {
               return line.text.find("tox") != line.text.npos;
             });
           });
         });
}

std::string weakened_tox(const FileChange& change, const RunTargets& targets) {
  const auto before = commands_of_tox(change.before ? change.before->content : ""),
             after = commands_of_tox(change.after->content);
  for (const auto& [part, commands] : before)
    if (const auto now = after.find(part);
        !runs_nothing(commands) &&
        (now == after.end() ? part == "[testenv]" || may_run_tox(targets) : runs_nothing(now->second)))
      return fmt::format("has {} of tox run no command any more", part);
  const auto now = after.find("[testenv]");
  if (!change.before && now != after.end() && runs_nothing(now->second)) return "has tox run no command";
  return "";
}

// Adds the file that an option of make names: "-f x", "-fx", "--file=x", "--makefile x".
void add_makefile(std::string_view option, std::string_view value, RunTargets& to) {
  for (const std::string_view name : {"--file", "--makefile", "-f"}) {
    if (!option.starts_with(name)) continue;
    if (option != name) value = option.substr(name.size());
    if (name != "-f" && value.starts_with('=')) value.remove_prefix(1);
    while (value.starts_with("./")) value.remove_prefix(2);
    to.makefiles.emplace(value);
    return;
  }
}

bool is_manager(std::string_view word) { return is_any_of(name_of(word), {"npm", "yarn", "pnpm", "bun"}); }

// Whether a command works in a folder that Pawl does not know: a variable names the folder or the program, or the
// command runs the scripts of other packages. A variable in another word is not a folder.
bool may_leave_folder(std::vector<std::string_view> words) {
  const auto first = std::ranges::find_if_not(words, sets_variable);
  words.erase(words.begin(), first);
  if (words.empty()) return false;
  if (words[0].find('$') != std::string_view::npos || words[0] == "eval") return true;
  const bool is_managed = std::ranges::any_of(words, is_manager);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto option = words[i].substr(0, words[i].find('='));
    if (is_managed && is_any_of(option, {"-r", "-w", "-ws", "--filter", "--recursive", "--workspace",
                                         "--workspaces", "workspace", "workspaces"}))
      return true;
    const bool names_folder = is_any_of(option, {"cd", "pushd", "-C", "--chdir", "--cwd", "--dir",
                                                 "--directory", "--prefix", "-f", "--file", "--makefile"});
    if (!names_folder && !words[i].starts_with("-C")) continue;
    const auto next = i + 1 < words.size() ? words[i + 1] : std::string_view();
    for (const auto folder : {words[i], option.size() < words[i].size() ? std::string_view() : next})
      if (folder.find_first_of("${") != folder.npos) return true;
  }
  return false;
}

// Adds the script or the targets that a command asks for by name.
void add_named(const std::vector<std::string_view>& words, RunTargets& to) {
  const auto is_runner = [](std::string_view word) {
    return is_manager(word) || is_any_of(name_of(word), {"make", "gmake"});
  };
  const auto runner = std::ranges::find_if(words, is_runner);
  if (runner == words.end()) return;
  const bool is_make = name_of(*runner).ends_with("make");
  bool found = false;
  for (auto word = runner + 1; word != words.end() && (is_make || !found); ++word) {
    if (word->starts_with('-')) {
      const auto option = *word;
      if (takes_value(option) && word + 1 != words.end()) ++word;
      if (is_make && word != words.end()) add_makefile(option, *word, to);
    } else if (is_make) {
      if (word->find('=') != word->npos) continue;  // a variable
      found = true;
      to.targets.emplace(*word);
    } else if (!is_any_of(*word, {"run", "run-script"})) {
      found = true;
      to.scripts.emplace(is_any_of(*word, {"t", "tst"}) ? "test" : *word);
    }
  }
  if (is_make && !found) to.targets.emplace("");
}

}  // namespace

void RunTargets::add(const std::vector<std::string>& argv) {
  constexpr std::string_view kBetweenCommands = ";&|()\n`";
  for (const std::string_view text : argv)
    for (std::size_t start = 0; start < text.size();) {
      const auto end = std::min(text.find_first_of(kBetweenCommands, start), text.size());
      const auto words = words_of_command(text.substr(start, end - start));
      add_named(words, *this);
      for (const auto word : words)
        if (programs.size() < kTargetsMax) programs.emplace(name_of(word));
      goes_anywhere = goes_anywhere || may_leave_folder(words);
      runs_cmake = runs_cmake || std::ranges::any_of(words, [](auto word) {
                     return is_any_of(name_of(word), {"cmake", "ctest"});
                   });
      start = end + 1;
    }
}

void RunTargets::read_makefiles(const std::set<std::string>& places, const TextAt& text_of) {
  folders = places;
  folders.insert("");
  if (targets.empty()) return;
  const auto add_make = [&](const std::string& folder, std::vector<std::string> names, bool is_given) {
    MakeFolder make{.folder = folder, .names = std::move(names), .is_given = is_given};
    make.base = read_make(folder, make.names, text_of);
    make.reached = reached(make.base, targets);
    for (const auto& target : replaceable(make.base, targets))
      make.replaced.insert((folder.empty() ? "" : folder + "/") + target);
    makes.push_back(std::move(make));
  };
  for (const auto& folder : folders) {
    const auto start = folder.empty() ? std::string() : folder + "/";
    for (const auto* name : kMakefiles)
      if (!text_of(start + name).empty()) {
        add_make(folder, {name}, false);
        break;
      }
    if (!makefiles.empty()) add_make(folder, {makefiles.begin(), makefiles.end()}, true);
  }
}

void RunTargets::read_work(const TextAt& base, const TextAt& work) {
  base_text = base;
  work_text = work;
  for (auto& make : makes) {
    const auto start = make.folder.empty() ? std::string() : make.folder + "/";
    auto names = make.names;
    if (!make.is_given)
      for (const auto* name : kMakefiles)
        if (!work(start + name).empty()) {
          names = {name};
          break;
        }
    make.now = read_make(make.folder, names, work);
    for (const auto& phony : phony_targets(make.now)) make.replaced.erase(start + phony);
  }
}

bool may_have_targets(std::string_view path, const RunTargets& targets) {
  const auto name = name_of(path);
  return is_makefile(name) || is_read_by_make(path, targets) || may_switch_off(path, targets) ||
         is_any_of(name, {"package.json", "tox.ini", "gradlew", "mvnw", "gradle-wrapper.properties",
                          "maven-wrapper.properties"});
}

std::string weakened_target(const FileChange& change, const RunTargets& targets) {
  const auto name = name_of(change.path);
  if (auto why = weakened_make(change, targets); !why.empty()) return why;
  if (name == "package.json") return weakened_scripts(change, targets);
  if (!change.after) return "";
  if (name == "tox.ini")
    if (auto why = weakened_tox(change, targets); !why.empty()) return why;
  if (!change.before) return "";
  if (name == "gradlew")
    return weakened_wrapper(change, "Gradle", {"GradleWrapperMain", "gradle-wrapper.jar"});
  if (name == "mvnw")
    return weakened_wrapper(change, "Maven", {"MavenWrapperMain", "maven-wrapper.properties"});
  if (name.ends_with("-wrapper.properties")) return weakened_properties(change);
  if (name == "tox.ini" && ignored_commands(change.after->content) > ignored_commands(change.before->content))
    return "has tox ignore that a command fails";
  return "";
}

}  // namespace pawl::gates
