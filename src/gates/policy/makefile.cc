#include "gates/policy/makefile.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (!to.is_cut) rule.recipe.emplace_back(command);
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

Makefile read_makefile(std::string_view text) {
  Makefile out;
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
    if (!take_assignment(rest, out)) take_rule(rest, out, open);
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
          return fmt::format("{} is `{}` now, and target `{}` runs it", name, value.substr(0, 100), target);
    }
  }
  return "";
}

}  // namespace

bool is_makefile(std::string_view name) {
  return is_any_of(name, {"Makefile", "makefile", "GNUmakefile"}) || name.ends_with(".mk");
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

}  // namespace pawl::gates
