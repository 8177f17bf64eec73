#include "gates/policy/run_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using Names = std::set<std::string, std::less<>>;
using Lines = std::vector<std::string>;

constexpr std::size_t kTargetsMax = 1000;         // targets that are followed, and rules that are read
constexpr std::size_t kRecipeBytesMax = 1 << 20;  // bytes of all recipes of a Makefile
// Bytes of one script or one line of a recipe that are examined.
constexpr std::size_t kCommandBytesMax = 64 << 10;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Whether an option of make or npm has its value in the next word.
bool takes_value(std::string_view option) {
  return is_any_of(option, {"-C", "-f", "--directory", "--file", "--prefix", "-w", "--workspace", "--filter",
                            "-F", "--cwd", "--dir"});
}

// A Makefile, as far as the check needs it: rules, and variables as they are written. Includes are not
// followed.
struct Rule {
  Names needs;
  Lines recipe;
};
struct Makefile {
  std::map<std::string, Rule, std::less<>> rules;
  std::map<std::string, std::string, std::less<>> variables;
  std::string first;         // the first target
  bool ignores = false;      // .IGNORE without a target, or -i in MAKEFLAGS
  std::string runs_nothing;  // the line by which make, or its shell, runs no command
  std::size_t bytes = 0;     // bytes of its recipes
  bool is_cut = false;       // a part of it is over the limits and was not read
};

// The lines of a text. A line that ends in a backslash is joined with the next one.
Lines logical_lines(std::string_view text) {
  Lines out;
  bool goes_on = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool continues = line.ends_with('\\');
    if (continues) line.pop_back();
    if (goes_on && !out.empty())
      out.back() += " " + std::string(trimmed(line));
    else
      out.push_back(std::move(line));
    goes_on = continues;
  }
  return out;
}

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!(text = trimmed(text)).empty()) {
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

// Whether flags have `letter` or one of the long names: "-i", "-ri", "--ignore-errors".
bool has_flag(std::string_view flags, char letter, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(words_in(flags), [&](std::string_view word) {
    if (word.starts_with("--")) return is_any_of(word, names);
    return word.starts_with('-') && word.find_first_not_of("-abcdefghijklmnopqrstuvwxyzBCRSW") == word.npos &&
           word.find(letter) != word.npos;
  });
}

void take_variable(std::string_view name, std::string_view value, const std::string& line, Makefile& to) {
  if (name == "MAKEFLAGS" || name == "GNUMAKEFLAGS") {
    to.ignores = to.ignores || has_flag(value, 'i', {"--ignore-errors"});
    if (has_flag(value, 'n', {"--dry-run", "--just-print", "--recon"}) || has_flag(value, 't', {"--touch"}))
      to.runs_nothing = line;
  }
  if (name == ".SHELLFLAGS" && has_flag(value, 'n', {})) to.runs_nothing = line;
  if (name == "SHELL") {
    const auto words = words_in(value);
    const auto shell = words.empty() ? std::string_view() : last_part(words.back());
    // A shell such as "$(shell which bash)" is not known and therefore accepted.
    if (value.find('$') == value.npos &&
        !is_any_of(shell, {"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish", "cmd.exe", "pwsh"}))
      to.runs_nothing = line;
  }
  if (to.variables.size() < kTargetsMax) to.variables[std::string(name)] = value;
}

// Reads "NAME = value", "NAME := value" or "export NAME ?= value". Returns false for a rule.
bool take_assignment(std::string_view line, Makefile& to) {
  const auto sign = line.find('=');
  if (sign == line.npos) return false;
  auto name = line.substr(0, sign);
  while (!name.empty() && std::string_view(":?+! ").find(name.back()) != std::string_view::npos)
    name.remove_suffix(1);
  const auto words = words_in(name);
  if (words.empty() || name.find(':') != name.npos) return false;
  take_variable(words.back(), trimmed(line.substr(sign + 1)), std::string(trimmed(line)), to);
  return true;
}

void add_command(std::string_view command, Rule& rule, Makefile& to) {
  to.bytes += command.size();
  to.is_cut = to.is_cut || to.bytes > kRecipeBytesMax || rule.recipe.size() >= kTargetsMax;
  if (!to.is_cut) rule.recipe.emplace_back(command);
}

void take_rule(std::string_view line, Makefile& to, Names& open) {
  open.clear();
  to.is_cut = to.is_cut || line.size() > kCommandBytesMax;
  line = line.substr(0, kCommandBytesMax);
  const auto colon = line.find(':');
  if (colon == line.npos) return;
  auto needs = line.substr(
      line.find_first_not_of(':', colon) == line.npos ? line.size() : line.find_first_not_of(':', colon));
  std::string_view recipe;
  if (const auto semicolon = needs.find(';'); semicolon != needs.npos) {
    recipe = trimmed(needs.substr(semicolon + 1));
    needs = needs.substr(0, semicolon);
  }
  for (const auto target : words_in(line.substr(0, colon))) {
    if (target == ".IGNORE") to.ignores = true;
    to.is_cut = to.is_cut || to.rules.size() >= kTargetsMax;
    if (to.is_cut) return;
    if (to.first.empty() && !target.starts_with('.')) to.first = target;
    auto& rule = to.rules[std::string(target)];
    for (const auto need : words_in(needs))
      if (need != "|") rule.needs.emplace(need);
    if (!recipe.empty()) add_command(recipe, rule, to);
    open.emplace(target);
  }
}

// Whether a line is a condition. Conditions occur inside a recipe as well as outside.
bool is_condition(std::string_view line) {
  return is_any_of(line.substr(0, line.find_first_of(" \t(")),
                   {"ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"});
}

Makefile read_makefile(std::string_view text) {
  Makefile out;
  Names open;  // targets of the current rule
  for (const auto& line : logical_lines(text)) {
    if (line.starts_with('\t')) {
      const auto command = trimmed(line);
      if (command.empty() || command.starts_with('#')) continue;
      for (const auto& target : open) add_command(command, out.rules[target], out);
      continue;
    }
    const auto rest = trimmed(line);
    if (rest.empty() || rest.starts_with('#') || is_condition(rest)) continue;
    if (!take_assignment(rest, out)) take_rule(rest, out, open);
  }
  return out;
}

// Whether a command only handles files or processes, or prints a text. Its failure may be ignored.
bool is_housekeeping(std::string_view command) {
  for (const std::string_view end : {"|| true", "|| :"})
    if (command.ends_with(end)) command.remove_suffix(end.size());
  if (command.find_first_of(";&|`") != command.npos) return false;
  const auto words = words_of_command(command);
  return words.empty() ||
         is_any_of(last_part(words.front()), {"rm", "RM", "rmdir", "mkdir", "ln", "kill", "pkill", "killall",
                                              "docker", "echo", "printf", "touch", "cp", "mv"});
}

// Whether each command of a script only prints a text or ends it with success.
bool runs_nothing(std::string_view script) {
  while (!script.empty()) {
    const auto end = std::min(script.find_first_of(";&|\n"), script.size());
    const auto words = words_in(script.substr(0, end));
    const bool nothing = words.empty() ||
                         is_any_of(words[0], {"true", ":", "echo", "printf", "@echo", "@true", "@:"}) ||
                         (words[0] == "exit" && (words.size() == 1 || words[1] == "0"));
    if (!nothing) return false;
    script.remove_prefix(std::min(end + 1, script.size()));
  }
  return true;
}

// Whether the last command makes a script succeed, whatever came before: "pytest; true", "pytest | tee log".
bool always_ends_well(std::string_view script) {
  script = trimmed(script);
  const auto last = trimmed(script.substr(script.find_last_of(";\n|") + 1));
  const auto words = words_in(last);
  return runs_nothing(last) || (!words.empty() && is_any_of(words[0], {"tee", "cat", "head", "tail"}));
}

// Why a script passes although a command of it failed. Honest scripts also have `cd a; make` and
// `run | diff - b`. So a reason that no word of the script asks for only counts when its end hides every
// failure.
std::vector<std::string> hidden_in(const std::string& script, const RunTargets& targets) {
  if (!targets.hidden_failures || script.size() > kCommandBytesMax) return {};
  auto reasons = targets.hidden_failures({"sh", "-c", script});
  if (always_ends_well(script)) return reasons;
  std::erase_if(reasons, [](const auto& reason) {
    return reason.find("leave it out") == reason.npos && reason.find("a trap") == reason.npos;
  });
  return reasons;
}

// Why a script is weaker than its earlier version; "" when it is not.
std::string weaker(const std::string& before, const std::string& after, const RunTargets& targets) {
  if (before == after) return "";
  if (runs_nothing(after) && !runs_nothing(before)) return "runs nothing any more";
  const auto known = hidden_in(before, targets);
  for (const auto& reason : hidden_in(after, targets))
    if (std::ranges::find(known, reason) == known.end())
      return "can pass although a command failed: " + reason;
  return "";
}

// One line of a recipe, without the characters before its command.
struct Command {
  std::string text;
  bool ignored = false;  // make ignores its failure
};
Command command_of(std::string_view line) {
  Command out;
  while (!line.empty() && std::string_view("@-+ \t").find(line.front()) != std::string_view::npos) {
    out.ignored = out.ignored || line.front() == '-';
    line.remove_prefix(1);
  }
  // "$(CC)" is a variable of make and not a command of the shell. "$$" is the shell's "$".
  for (std::size_t at = 0; at < line.size();) {
    const auto rest = line.substr(at);
    const auto closes = rest.starts_with("$(") ? rest.find_first_of(") ") : rest.npos;
    if (closes != rest.npos && rest[closes] == ')') {
      out.text += rest.substr(2, closes - 2);
      at += closes + 1;
      continue;
    }
    at += rest.starts_with("$$") ? 1 : 0;
    out.text += line[at++];
  }
  return out;
}

std::string weaker_recipe(const Rule& before, const Rule& after, const RunTargets& targets) {
  const auto nothing = [](const Rule& rule) {
    return std::ranges::all_of(rule.recipe,
                               [](const auto& line) { return runs_nothing(command_of(line).text); });
  };
  const bool needs_less =
      std::ranges::any_of(before.needs, [&](const auto& need) { return !after.needs.contains(need); });
  const bool needs_more = std::ranges::any_of(after.needs, [&](const auto& need) {
    return !before.needs.contains(need);
  });  // the new prerequisites may have the commands
  if (nothing(after) && !needs_more && (!nothing(before) || (needs_less && after.needs.empty())))
    return "runs nothing any more";
  // Failures that the removed lines hid already do not count.
  std::string old;
  for (const auto& line : before.recipe)
    if (std::ranges::find(after.recipe, line) == after.recipe.end()) old += command_of(line).text + "; ";
  const auto known = hidden_in(old, targets);
  for (const auto& line : after.recipe) {
    if (std::ranges::find(before.recipe, line) != before.recipe.end()) continue;
    const auto command = command_of(line);
    if (is_housekeeping(command.text)) continue;
    if (command.ignored) return fmt::format("ignores that `{}` fails", command.text.substr(0, 100));
    for (const auto& reason : hidden_in(command.text, targets))
      if (std::ranges::find(known, reason) == known.end())
        return "can pass although a command failed: " + reason;
  }
  return "";
}

// The requested targets, and the targets that they need.
Names reached(const Makefile& in, const Names& targets) {
  std::vector<std::string> todo;
  for (const auto& target : targets) todo.push_back(target.empty() ? in.first : target);
  Names out;
  while (!todo.empty() && out.size() < kTargetsMax) {
    const auto target = std::move(todo.back());
    todo.pop_back();
    if (!out.insert(target).second) continue;
    if (const auto rule = in.rules.find(target); rule != in.rules.end())
      todo.insert(todo.end(), rule->second.needs.begin(), rule->second.needs.end());
  }
  return out;
}

// Why a variable that recipes use now names a program without effect; "" when there is none.
std::string emptied_variable(const Makefile& before, const Makefile& after, const Names& targets) {
  for (const auto& [name, value] : after.variables) {
    const auto old = before.variables.find(name);
    if (old == before.variables.end() || old->second == value || old->second.empty()) continue;
    if (value.empty() || !runs_nothing(value) || runs_nothing(old->second)) continue;
    for (const auto& target : targets) {
      const auto rule = after.rules.find(target);
      if (rule == after.rules.end()) continue;
      for (const auto& line : rule->second.recipe)
        if (line.find("$(" + name + ")") != line.npos || line.find("${" + name + "}") != line.npos)
          return fmt::format("{} is `{}` now, and target `{}` runs it", name, value.substr(0, 100), target);
    }
  }
  return "";
}

std::string weakened_makefile(const FileChange& change, const RunTargets& targets) {
  if (targets.targets.empty()) return "";
  const auto before = read_makefile(change.before->content), after = read_makefile(change.after->content);
  if (after.is_cut && !before.is_cut) return "is too large to be read for what it runs";
  if (after.ignores && !before.ignores) return "has make ignore each command that fails";
  if (!after.runs_nothing.empty() && before.runs_nothing.empty())
    return fmt::format("has make run nothing, or something else: `{}`", after.runs_nothing.substr(0, 100));
  auto names = reached(before, targets.targets);
  for (const auto& name : names) {
    const auto old = before.rules.find(name), now = after.rules.find(name);
    if (old == before.rules.end() || now == after.rules.end()) continue;
    if (const auto why = weaker_recipe(old->second, now->second, targets); !why.empty())
      return fmt::format("target `{}`, which a gate runs, {}", name, why);
  }
  return emptied_variable(before, after, names);
}

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

std::string weakened_scripts(const FileChange& change, const RunTargets& targets) {
  const auto before = scripts_of(change.before->content), after = scripts_of(change.after->content);
  std::vector<std::string> todo(targets.scripts.begin(), targets.scripts.end());
  Names seen;
  while (!todo.empty() && seen.size() < kTargetsMax) {
    const auto name = std::move(todo.back());
    todo.pop_back();
    if (!seen.insert(name).second) continue;
    for (const auto* around : {"pre", "post"})
      if (before.contains(around + name)) todo.push_back(around + name);
    const auto old = before.find(name), now = after.find(name);
    if (old == before.end() || now == after.end()) continue;
    if (const auto why = weaker(old->second, now->second, targets); !why.empty())
      return fmt::format("script `{}`, which a gate runs, {}", name, why);
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
  while (!properties.empty()) {
    const auto end = std::min(properties.find('\n'), properties.size());
    const auto line = trimmed(properties.substr(0, end));
    properties.remove_prefix(std::min(end + 1, properties.size()));
    const auto slashes = line.find("//");
    if (!line.starts_with(key) || slashes == line.npos) continue;
    return std::string(line.substr(slashes + 2, line.find('/', slashes + 2) - slashes - 2));
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
  while (!ini.empty()) {
    const auto end = std::min(ini.find('\n'), ini.size());
    auto line = trimmed(ini.substr(0, end));
    ini.remove_prefix(std::min(end + 1, ini.size()));
    if (const auto sign = line.find('='); line.starts_with("commands") && sign != line.npos)
      line = trimmed(line.substr(sign + 1));
    out += line.starts_with("- ") ? 1 : 0;
  }
  return out;
}

// Adds the script or the targets that a command asks for by name.
void add_named(const std::vector<std::string_view>& words, RunTargets& to) {
  const auto is_runner = [](std::string_view word) {
    return is_any_of(last_part(word), {"npm", "yarn", "pnpm", "bun", "make", "gmake"});
  };
  const auto runner = std::ranges::find_if(words, is_runner);
  if (runner == words.end()) return;
  const bool is_make = last_part(*runner).ends_with("make");
  bool found = false;
  for (auto word = runner + 1; word != words.end() && (is_make || !found); ++word) {
    if (word->starts_with('-')) {
      if (takes_value(*word) && word + 1 != words.end()) ++word;
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

bool is_makefile(std::string_view name) {
  return is_any_of(name, {"Makefile", "makefile", "GNUmakefile"}) || name.ends_with(".mk");
}

}  // namespace

void RunTargets::add(const std::vector<std::string>& argv) {
  constexpr std::string_view kBetweenCommands = ";&|()\n`";
  for (const std::string_view text : argv)
    for (std::size_t start = 0; start < text.size();) {
      const auto end = std::min(text.find_first_of(kBetweenCommands, start), text.size());
      add_named(words_of_command(text.substr(start, end - start)), *this);
      start = end + 1;
    }
}

bool may_have_targets(std::string_view path) {
  const auto name = last_part(path);
  return is_makefile(name) || is_any_of(name, {"package.json", "tox.ini", "gradlew", "mvnw",
                                               "gradle-wrapper.properties", "maven-wrapper.properties"});
}

std::string weakened_target(const FileChange& change, const RunTargets& targets) {
  if (!change.before || !change.after || change.unread || change.after->is_link) return "";
  const auto name = last_part(change.path);
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
