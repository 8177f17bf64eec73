#include "gates/policy/makefile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/glob.h"
#include "base/lines.h"
#include "gates/policy/run_targets.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kRecipeBytesMax = 1 << 20;  // bytes of all recipes of a Makefile

// The lines of a text. A line that ends in a backslash is joined with the next one.
Lines logical_lines(std::string_view text) {
  Lines out;
  bool goes_on = false;
  for (const auto each : TextLines(text)) {
    std::string line(each);
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
    const auto shell = words.empty() ? std::string_view() : name_of(words.back());
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
  if (to.is_cut) return;
  rule.recipe.emplace_back(command);
  rule.files.push_back(to.files.size() - 1);
}

void take_rule(std::string_view line, Makefile& to, TargetNames& open) {
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

bool take_include(std::string_view line, Makefile& to) {
  const auto words = words_in(line.substr(0, line.find('#')));
  if (!is_any_of(words.front(), {"include", "-include", "sinclude"})) return false;
  for (std::size_t i = 1; i < words.size() && to.includes.size() < kTargetsMax; ++i)
    to.includes.push_back({.path = std::string(words[i]), .leads = to.first.empty()});
  return true;
}

void read_into(std::string_view text, const std::string& path, Makefile& out) {
  out.files.push_back(path);
  TargetNames open;  // targets of the current rule
  for (const auto& line : logical_lines(text)) {
    if (line.starts_with('\t')) {
      const auto command = trimmed(line);
      if (command.empty() || command.starts_with('#')) continue;
      for (const auto& target : open) add_command(command, out.rules[target], out);
      continue;
    }
    const auto rest = trimmed(line);
    if (rest.empty() || rest.starts_with('#') || is_condition(rest)) continue;
    if (!take_include(rest, out) && !take_assignment(rest, out)) take_rule(rest, out, open);
  }
}

Makefile read_makefile(std::string_view text) {
  Makefile out;
  read_into(text, "", out);
  return out;
}

// The paths, from the root, that a word behind `include` names in a folder. A word with a function of make
// other than `wildcard` is not known.
Lines included_paths(const std::string& folder, const std::string& word, const Makefile& in) {
  Lines out;
  const std::string text = expanded(word, in);
  for (std::string_view one : words_in(text)) {
    while (one.ends_with(')')) one.remove_suffix(1);
    if (one.find('$') != one.npos || one.starts_with('/')) continue;
    std::string path = folder;
    while (!one.empty()) {
      const auto end = std::min(one.find('/'), one.size());
      const auto part = one.substr(0, end);
      one.remove_prefix(std::min(end + 1, one.size()));
      if (part == "..") path.resize(path.find('/') == path.npos ? 0 : path.rfind('/'));
      if (!is_any_of(part, {"", ".", ".."})) path += (path.empty() ? "" : "/") + std::string(part);
    }
    out.push_back(std::move(path));
  }
  return out;
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
  const auto is_idle = [](const Rule& rule) {
    return std::ranges::all_of(rule.recipe,
                               [](const auto& line) { return runs_nothing(command_of(line).text); });
  };
  const bool needs_less =
      std::ranges::any_of(before.needs, [&](const auto& need) { return !after.needs.contains(need); });
  const bool needs_more = std::ranges::any_of(after.needs, [&](const auto& need) {
    return !before.needs.contains(need);
  });  // the new prerequisites may have the commands
  if (is_idle(after) && !needs_more && (!is_idle(before) || (needs_less && after.needs.empty())))
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
    if (command.ignored) return fmt::format("ignores that `{}` fails", command.text);
    for (const auto& reason : hidden_in(command.text, targets))
      if (std::ranges::find(known, reason) == known.end())
        return "can pass although a command failed: " + reason;
  }
  return "";
}

// The requested targets, and the targets that they need.
TargetNames reached(const Makefile& in, const TargetNames& targets) {
  std::vector<std::string> todo;
  for (const auto& target : targets) todo.push_back(target.empty() ? in.first : target);
  TargetNames out;
  while (!todo.empty() && out.size() < kTargetsMax) {
    const auto target = std::move(todo.back());
    todo.pop_back();
    if (!out.insert(target).second) continue;
    if (const auto rule = in.rules.find(target); rule != in.rules.end())
      todo.insert(todo.end(), rule->second.needs.begin(), rule->second.needs.end());
  }
  return out;
}

// Whether a recipe writes the file that its target names: "cc -o app", "> $@".
bool makes_file(const Rule& rule, std::string_view target) {
  return std::ranges::any_of(rule.recipe, [&](const auto& line) {
    const auto words = words_in(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == ">$@" || (words[i].starts_with('>') && words[i].substr(1) == target)) return true;
      if (i == 0 || (words[i] != "$@" && words[i] != target)) continue;
      if (is_any_of(words[i - 1], {"-o", ">", "-p", "rcs", "rc", "cr", "-f", "cf", "czf", "-czf"}) ||
          is_any_of(command_of(words[0]).text, {"touch", "mkdir", "cp", "mv", "ln", "install"}))
        return true;
    }
    return false;
  });
}

// Targets of a gate that make does not run when a file of their name is there.
TargetNames replaceable(const Makefile& in, const TargetNames& targets) {
  TargetNames phony, out, seen;
  if (const auto rule = in.rules.find(".PHONY"); rule != in.rules.end())
    for (const auto& need : rule->second.needs) {
      const auto names = expanded(need, in);
      for (const auto name : words_in(names)) phony.emplace(name);
    }
  Lines todo;
  for (const auto& target : targets) todo.push_back(target.empty() ? in.first : target);
  while (!todo.empty() && seen.size() < kTargetsMax) {
    const auto name = std::move(todo.back());
    todo.pop_back();
    const auto found = in.rules.find(name);
    if (found == in.rules.end() || !seen.insert(name).second) continue;
    const auto& rule = found->second;
    // A target without a recipe stands for those that it needs.
    if (rule.recipe.empty()) todo.insert(todo.end(), rule.needs.begin(), rule.needs.end());
    bool always = phony.contains(name) || makes_file(rule, name);
    for (const auto& need : rule.needs) {
      const auto forced = in.rules.find(need);
      const bool empty =
          forced != in.rules.end() && forced->second.recipe.empty() && forced->second.needs.empty();
      if (empty && !phony.contains(need) && !always) out.insert(need);  // "FORCE:"
      always = always || empty || phony.contains(need);
    }
    if (!always) out.insert(name);
  }
  return out;
}

// Why a variable that recipes use now names a program without effect; "" when there is none.
std::string emptied_variable(const Makefile& before, const Makefile& after, const TargetNames& targets) {
  for (const auto& [name, value] : after.variables) {
    const auto old = before.variables.find(name);
    if (old == before.variables.end() || old->second == value || old->second.empty()) continue;
    if (value.empty() || !runs_nothing(value) || runs_nothing(old->second)) continue;
    for (const auto& target : targets) {
      const auto rule = after.rules.find(target);
      if (rule == after.rules.end()) continue;
      for (const auto& line : rule->second.recipe)
        if (line.find("$(" + name + ")") != line.npos || line.find("${" + name + "}") != line.npos)
          return fmt::format("{} is `{}` now, and target `{}` runs it", name, value, target);
    }
  }
  return "";
}

// Why make ignores failures or runs no command by the file `after`, and did otherwise before.
std::string weakened_make(const Makefile& before, const Makefile& after) {
  if (after.is_cut && !before.is_cut) return "is too large to be read for what it runs";
  if (after.ignores && !before.ignores) return "has make ignore each command that fails";
  if (!after.runs_nothing.empty() && before.runs_nothing.empty())
    return fmt::format("has make run nothing, or something else: `{}`", after.runs_nothing);
  return "";
}

std::string weakened_by(const Rule* old, const Rule* now, const std::string& name,
                        const RunTargets& targets) {
  if (old == nullptr || now == nullptr) return "";
  const auto why = weaker_recipe(*old, *now, targets);
  return why.empty() ? "" : fmt::format("target `{}`, which a gate runs, {}", name, why);
}

const Rule* rule_of(const Makefile& in, const std::string& name) {
  const auto rule = in.rules.find(name);
  return rule == in.rules.end() ? nullptr : &rule->second;
}

// How a file weakens the targets of a Makefile that includes it.
std::string weakened_within(const FileChange& change, const MakeFolder& make, bool leads,
                            const RunTargets& targets) {
  if (change.unread) return "is included by a Makefile, and too large to be read";
  if (change.after->is_link) return "is a link, and included by a Makefile";
  const bool was_file = change.before && !change.before->is_link;
  const auto before = read_makefile(was_file ? change.before->content : ""),
             after = read_makefile(change.after->content);
  if (auto why = weakened_make(before, after); !why.empty()) return why;
  if (leads && targets.targets.contains("") && before.first.empty() && !after.first.empty())
    return fmt::format("makes `{}` the first target, which a gate runs", after.first);
  for (const auto& name : make.reached) {
    const auto *old = rule_of(before, name), *now = rule_of(after, name), *base = rule_of(make.base, name);
    if (now == nullptr || now->recipe.empty() || base == nullptr || base->recipe.empty()) continue;
    if (old == nullptr || old->recipe.empty())
      return fmt::format("replaces target `{}`, which a gate runs", name);
    if (auto why = weakened_by(old, now, name, targets); !why.empty()) return why;
  }
  Makefile with = make.base;
  with.variables = after.variables;
  return emptied_variable(make.base, with, make.reached);
}

}  // namespace

std::string expanded(std::string text, const Makefile& in) {
  constexpr int kMost = 20;  // a variable may name itself
  std::size_t from = 0;
  for (int i = 0; i < kMost; ++i) {
    const auto start = text.find('$', from);
    if (start == text.npos || start + 1 >= text.size()) break;
    const auto end = text.find(text[start + 1] == '{' ? '}' : ')', start);
    if (end == text.npos || text.size() > kCommandBytesMax) break;
    const auto name = text.substr(start + 2, end - start - 2);
    const auto value = in.variables.find(name);
    if (value == in.variables.end() && name != "CURDIR")
      from = start + 1;
    else
      text.replace(start, end + 1 - start, name == "CURDIR" ? "." : value->second);
  }
  return text;
}

bool is_makefile(std::string_view name) {
  return is_any_of(name, {"Makefile", "makefile", "GNUmakefile"}) || name.ends_with(".mk");
}

MakeFolder read_make_folder(const std::string& folder, const std::vector<std::string>& names,
                            const TargetNames& targets,
                            const std::function<std::string(const std::string& path)>& text_of) {
  const auto start = folder.empty() ? std::string() : folder + "/";
  MakeFolder out;
  for (const auto& name : names) read_into(text_of(start + name), start + name, out.base);
  std::vector<Include> includes;
  for (std::size_t i = 0; i < out.base.includes.size() && includes.size() < kTargetsMax; ++i) {
    const auto include = out.base.includes[i];
    for (auto& path : included_paths(folder, include.path, out.base)) {
      const bool known = std::ranges::find(includes, path, &Include::path) != includes.end();
      if (!known && path.find('*') == path.npos) read_into(text_of(path), path, out.base);
      if (!known) includes.push_back({.path = std::move(path), .leads = include.leads});
    }
  }
  out.base.includes = std::move(includes);
  out.reached = reached(out.base, targets);
  for (const auto& target : replaceable(out.base, targets)) out.replaced.insert(start + target);
  return out;
}

bool is_included(std::string_view path, const RunTargets& targets) {
  return std::ranges::any_of(targets.makes, [&](const auto& make) {
    return std::ranges::any_of(make.base.includes,
                               [&](const auto& each) { return glob_matches(each.path, path); });
  });
}

std::string weakened_include(const FileChange& change, const RunTargets& targets) {
  if (!change.after) return "";
  for (const auto& make : targets.makes)
    for (const auto& include : make.base.includes) {
      if (!glob_matches(include.path, change.path)) continue;
      if (auto why = weakened_within(change, make, include.leads, targets); !why.empty()) return why;
    }
  return "";
}

std::string weakened_makefile(const FileChange& change, const RunTargets& targets) {
  if (targets.targets.empty()) return "";
  const auto before = read_makefile(change.before->content), after = read_makefile(change.after->content);
  if (auto why = weakened_make(before, after); !why.empty()) return why;
  const auto names = reached(before, targets.targets);
  for (const auto& name : names)
    if (auto why = weakened_by(rule_of(before, name), rule_of(after, name), name, targets); !why.empty())
      return why;
  return emptied_variable(before, after, names);
}

}  // namespace pawl::gates
