#include "gates/policy/run_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/lines.h"
#include "gates/policy/build_files.h"
#include "gates/policy/makefile.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Whether an option of make or npm has its value in the next word.
bool takes_value(std::string_view option) {
  return is_any_of(option, {"-C", "-f", "--directory", "--file", "--prefix", "-w", "--workspace", "--filter",
                            "-F", "--cwd", "--dir"});
}

// The programs of a script, and the modules that it has Node.js load before a test ("--require ./x.js").
struct ScriptParts {
  std::multiset<std::string, std::less<>> programs;
  TargetNames loads;
};
ScriptParts parts_of(std::string_view script) {
  constexpr std::string_view kBetweenCommands = ";&|()\n`";
  ScriptParts out;
  for (std::size_t start = 0; start < script.size();) {
    const auto end = std::min(script.find_first_of(kBetweenCommands, start), script.size());
    const auto words = words_of_command(script.substr(start, end - start));
    start = end + 1;
    const auto program = std::ranges::find_if(words, [](auto word) {
      return word.find('=') == word.npos && !is_any_of(word, {"env", "cross-env", "npx", "exec", "time"});
    });
    if (program != words.end()) out.programs.emplace(*program);
    const bool takes_r =
        program != words.end() &&
        is_any_of(name_of(*program), {"ava", "c8", "mocha", "node", "nyc", "tap", "ts-node", "tsx"});
    for (auto word = words.begin(); word != words.end(); ++word) {
      const auto option = word->substr(0, word->find('='));
      const bool is_long = is_any_of(option, {"--require", "--import", "--loader", "--experimental-loader"});
      const bool is_short = takes_r && word->starts_with("-r") && word->find_first_not_of("./@", 2) != 2;
      if (!is_long && !is_short) continue;
      const bool has_value = option.size() < word->size() || (!is_long && word->size() > 2);
      out.loads.insert(has_value || word + 1 == words.end() ? std::string(*word)
                                                            : fmt::format("{} {}", *word, word[1]));
    }
  }
  return out;
}

// Why a script runs another program than before, or has it load something first; "" when it does not.
std::string steered(const std::string& before, const std::string& after) {
  const auto old = parts_of(before), now = parts_of(after);
  for (const auto& load : now.loads)
    if (!old.loads.contains(load)) return fmt::format("loads `{}` before the tests", load);
  const bool lost =
      std::ranges::any_of(old.programs, [&](const auto& program) { return !now.programs.contains(program); });
  for (const auto& program : now.programs) {
    const bool is_own = program.find('/') != program.npos && !program.starts_with("/usr/") &&
                        !program.starts_with("/bin/") && program.find("node_modules/") == program.npos;
    if (lost && is_own && !old.programs.contains(program))
      return fmt::format("runs `{}` instead of an installed program", program);
  }
  return "";
}

std::string weakened_scripts(const FileChange& change, const RunTargets& targets) {
  const auto before = scripts_of(change.before->content), after = scripts_of(change.after->content);
  std::vector<std::string> todo(targets.scripts.begin(), targets.scripts.end());
  TargetNames seen;
  while (!todo.empty() && seen.size() < kTargetsMax) {
    const auto name = std::move(todo.back());
    todo.pop_back();
    if (!seen.insert(name).second) continue;
    for (const auto* around : {"pre", "post"}) {
      if (before.contains(around + name)) todo.push_back(around + name);
      // A name that is not in `scripts` is a command of npm, or one that base does not have.
      if (before.contains(name) && after.contains(around + name) && !before.contains(around + name))
        return fmt::format("script `{}{}` is new, and runs with `{}`, which a gate runs", around, name, name);
    }
    const auto old = before.find(name), now = after.find(name);
    if (old == before.end() || now == after.end()) continue;
    for (const auto& why : {weaker(old->second, now->second, targets), steered(old->second, now->second)})
      if (!why.empty()) return fmt::format("script `{}`, which a gate runs, {}", name, why);
    RunTargets inner;
    inner.add({old->second});
    todo.insert(todo.end(), inner.scripts.begin(), inner.scripts.end());
  }
  return "";
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

// The number of lines such as "- pytest" in tox.ini: tox continues when such a command fails.
std::int64_t ignored_commands(std::string_view ini) {
  std::int64_t out = 0;
  for (const auto each : TextLines(ini)) {
    auto line = trimmed(each);
    if (const auto sign = line.find('='); line.starts_with("commands") && sign != line.npos)
      line = trimmed(line.substr(sign + 1));
    out += line.starts_with("- ") ? 1 : 0;
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

std::string weakened_tox(const FileChange& change) {
  const auto before = commands_of_tox(change.before ? change.before->content : ""),
             after = commands_of_tox(change.after->content);
  for (const auto& [part, commands] : before)
    if (const auto now = after.find(part);
        !runs_nothing(commands) && (now == after.end() || runs_nothing(now->second)))
      return fmt::format("has {} of tox run nothing any more", part);
  const auto now = after.find("[testenv]");
  if (!change.before && now != after.end() && runs_nothing(now->second)) return "has tox run nothing";
  return "";
}

// Adds the script or the targets that a command asks for by name.
void add_named(const std::vector<std::string_view>& words, RunTargets& to) {
  const auto is_runner = [](std::string_view word) {
    return is_any_of(name_of(word), {"npm", "yarn", "pnpm", "bun", "make", "gmake"});
  };
  const auto runner = std::ranges::find_if(words, is_runner);
  if (runner == words.end()) return;
  const bool is_make = name_of(*runner).ends_with("make");
  bool found = false;
  for (auto word = runner + 1; word != words.end() && (is_make || !found); ++word) {
    if (word->starts_with('-')) {
      const auto option = *word;
      if (takes_value(option) && word + 1 != words.end()) ++word;
      if (is_make && is_any_of(option, {"-f", "--file"})) to.makefiles.emplace(*word);
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

std::map<std::string, std::string, std::less<>> scripts_of(std::string_view text) {
  constexpr int kDepthMax = 64;
  std::map<std::string, std::string, std::less<>> out;
  bool too_deep = false;
  const auto bounded = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  const Json parsed = Json::parse(text, bounded, false);
  if (too_deep || !parsed.is_object()) return out;
  for (const auto& [name, script] : object_in(parsed, "scripts").items())
    if (script.is_string()) out[name] = script.get<std::string>();
  return out;
}

void RunTargets::add(const std::vector<std::string>& argv) {
  constexpr std::string_view kBetweenCommands = ";&|()\n`";
  for (const std::string_view text : argv)
    for (std::size_t start = 0; start < text.size();) {
      const auto end = std::min(text.find_first_of(kBetweenCommands, start), text.size());
      const auto words = words_of_command(text.substr(start, end - start));
      add_named(words, *this);
      runs_cmake = runs_cmake || std::ranges::any_of(words, [](auto word) {
                     return is_any_of(name_of(word), {"cmake", "ctest"});
                   });
      start = end + 1;
    }
}

void RunTargets::read_makefiles(const std::set<std::string>& folders,
                                const std::function<std::string(const std::string& path)>& text_of) {
  if (targets.empty()) return;
  auto places = folders;
  places.insert("");
  for (const auto& folder : places) {
    const auto start = folder.empty() ? std::string() : folder + "/";
    std::vector<std::string> names(makefiles.begin(), makefiles.end());
    for (const auto* name : {"GNUmakefile", "makefile", "Makefile"})
      if (!text_of(start + name).empty()) {
        names.emplace_back(name);
        break;
      }
    makes.push_back(read_make_folder(folder, names, targets, text_of));
  }
}

bool may_have_targets(std::string_view path, const RunTargets& targets) {
  const auto name = name_of(path);
  return is_makefile(name) || is_included(path, targets) || may_switch_off(path, targets) ||
         is_any_of(name, {"package.json", "tox.ini", "gradlew", "mvnw", "gradle-wrapper.properties",
                          "maven-wrapper.properties"});
}

std::string weakened_target(const FileChange& change, const RunTargets& targets) {
  if (auto why = weakened_include(change, targets); !why.empty()) return why;
  if (!change.after || change.unread || change.after->is_link) return "";
  const auto name = name_of(change.path);
  if (name == "tox.ini")
    if (auto why = weakened_tox(change); !why.empty()) return why;
  if (!change.before) return "";
  if (name == "package.json") return weakened_scripts(change, targets);
  if (name == "gradlew")
    return weakened_wrapper(change, "Gradle", {"GradleWrapperMain", "gradle-wrapper.jar"});
  if (name == "mvnw")
    return weakened_wrapper(change, "Maven", {"MavenWrapperMain", "maven-wrapper.properties"});
  if (name.ends_with("-wrapper.properties")) return weakened_properties(change);
  if (name == "tox.ini" && ignored_commands(change.after->content) > ignored_commands(change.before->content))
    return "has tox ignore that a command fails";
  return is_makefile(name) ? weakened_makefile(change, targets) : "";
}

}  // namespace pawl::gates
