#include "gates/policy/weakened_make.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/glob.h"
#include "base/lines.h"
#include "gates/policy/script_programs.h"
#include "gates/policy/script_text.h"
#include "gates/policy/unheard.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using LinesOfRule = std::vector<const RecipeLine*>;

// A Makefile, and one of its rules.
struct RuleOf {
  const Makefile& in;
  const Rule& rule;
  const MakeVariables& inherited;     // own variables of targets that may need this one
  const TargetNames* used = nullptr;  // where this is the work's: the variables of base's recipes

  std::string text_of(const RecipeLine& line) const {
    return expanded(expanded(expanded(line.text, rule.variables), inherited), in.variables);
  }
};

const Rule* rule_of(const Makefile& in, const std::string& name) {
  const auto rule = in.rules.find(name);
  return rule == in.rules.end() ? nullptr : &rule->second;
}

// The variables of base's recipes that it does not set, as "$(NAME)". The environment, or a file that a step
// makes, may give their values.
TargetNames used_variables(const Makefile& base) {
  TargetNames out;
  for (const auto& [name, rule] : base.rules)
    for (const auto& line : rule.recipe)
      for (auto at = line.text.find('$'); at != line.text.npos; at = line.text.find('$', at + 1))
        if (const auto end = line.text.find_first_of(")}", at);
            end != line.text.npos && end > at + 2 &&
            !base.variables.contains(line.text.substr(at + 2, end - at - 2)))
          out.insert(line.text.substr(at, end + 1 - at));
  return out;
}

// Whether a text is a variable or a call of make without a value: "$(CHECK)", "$(info done)".
bool is_without_value(std::string_view text, const TargetNames* used) {
  if (!text.starts_with("$(") && !text.starts_with("${")) return false;
  const auto end = text.find_first_of(")}");
  if (end == text.npos || !trimmed(text.substr(end + 1)).empty()) return false;
  const auto name = text.substr(2, end - 2);
  if (name.starts_with("info ") || name.starts_with("warning ")) return true;
  // make itself defines names such as CC, CXX, RM and MAKE.
  return used != nullptr && name.find_first_of(" :") == name.npos &&
         !used->contains(text.substr(0, end + 1)) &&
         !is_any_of(name, {"AR", "AS", "CC", "CPP", "CXX", "FC", "LD", "LEX", "LINK.c", "LINK.cc", "LINK.o",
                           "MAKE", "RM", "YACC"});
}

// Whether a line, with its variables, runs no command.
bool is_idle(const RuleOf& of, const RecipeLine& line) {
  const auto text = of.text_of(line);
  auto rest = std::string_view(text);
  rest.remove_prefix(std::min(rest.find_first_not_of("@-+ \t"), rest.size()));
  return rest.empty() || is_without_value(rest, of.used) || runs_nothing(command_of(rest).text);
}

// Whether no line runs a command in some combination of the conditions.
bool may_be_idle(const RuleOf& of, const LinesOfRule& lines, std::size_t depth = 0) {
  std::map<std::size_t, std::map<std::size_t, LinesOfRule>> blocks;
  for (const auto* line : lines) {
    if (line->when.size() > depth)
      blocks[line->when[depth].block][line->when[depth].index].push_back(line);
    else if (!is_idle(of, *line))
      return false;
  }
  return std::ranges::all_of(blocks, [&](const auto& block) {
    const auto& [id, branches] = block;
    if (!of.in.blocks[id].has_else || branches.size() < of.in.blocks[id].branches) return true;
    return std::ranges::any_of(branches,
                               [&](const auto& each) { return may_be_idle(of, each.second, depth + 1); });
  });
}

LinesOfRule lines_of(const Rule& rule) {
  LinesOfRule out;
  for (const auto& line : rule.recipe) out.push_back(&line);
  return out;
}

bool may_be_idle(const RuleOf& of) { return may_be_idle(of, lines_of(of.rule)); }

// The own variables of targets. A target that another one needs inherits them.
MakeVariables own_variables(const Makefile& in, const TargetNames& names) {
  MakeVariables out;
  for (const auto& name : names)
    if (const auto* rule = rule_of(in, name); rule != nullptr)
      out.insert(rule->variables.begin(), rule->variables.end());
  return out;
}

// Compares what a gate runs by base's Makefile with what it runs by the work's.
class MakeComparison {
 public:
  MakeComparison(const Makefile& before, const Makefile& after, const RunTargets& targets)
      : before_(before),
        after_(after),
        targets_(targets),
        names_(reached(before, targets.targets)),
        sure_names_(surely_reached(before, targets.targets)),
        sure_names_now_(surely_reached(after, targets.targets)) {}

  std::string words() const {
    for (auto why : {as_a_whole(), emptied_variable()})
      if (!why.empty()) return why;
    for (const auto& name : names_)
      if (const auto* old = rule_of(before_, name); old != nullptr)
        if (auto why = target(name, *old); !why.empty())
          return fmt::format("target `{}`, which a gate runs, {}", name, why);
    const auto old = commands(before_, own_before_, names_),
               now = commands(after_, own_after_, sure_names_now_);
    if (now.size() > kCommandsMax && old.size() <= kCommandsMax) return "has too many commands to be read";
    const Moves moves{.in_base = targets_.in_base, .in_work = targets_.in_work};
    const auto why = lost_runner(old, now, moves);
    return why.empty() ? "" : "has targets that a gate runs, and " + why;
  }

 private:
  static std::vector<std::string> commands(const Makefile& in, const MakeVariables& own,
                                           const TargetNames& names) {
    std::vector<std::string> out;
    // make's own rules compile with them.
    for (const auto* flags : {"CFLAGS", "CPPFLAGS", "CXXFLAGS"})
      if (const auto value = in.variables.find(flags); value != in.variables.end())
        out.push_back(fmt::format("{}={}", flags, expanded(value->second, in.variables)));
    for (const auto& name : names)
      if (const auto* rule = rule_of(in, name); rule != nullptr)
        for (const auto& line : rule->recipe) {
          if (out.size() > kCommandsMax) return out;
          out.emplace_back();  // each line begins in the Makefile's folder
          for (auto& each : commands_of(command_of(RuleOf{in, *rule, own}.text_of(line)).text))
            out.push_back(std::move(each));
        }
    return out;
  }

  std::string as_a_whole() const {
    if (after_.is_cut && !before_.is_cut) return "is too large to be read for what it runs";
    if (after_.settings.ignores && !before_.settings.ignores)
      return "has make ignore each command that fails";
    if (!after_.settings.runs_nothing.empty() && before_.settings.runs_nothing.empty())
      return fmt::format("has make run no command, or another one: `{}`", after_.settings.runs_nothing);
    if (after_.unknown.size() > before_.unknown.size())
      for (const auto& line : after_.unknown)
        if (!before_.unknown.contains(line))
          return fmt::format("has a line whose effect is unknown: `{}`", line);
    for (const auto& [name, rule] : after_.rules)
      if (name.find('$') != name.npos && !rule.recipe.empty() && !before_.rules.contains(name) &&
          may_be_idle(of_work(rule)) && !makes_file(rule, name))
        return fmt::format("has a rule for `{}`, a name that is unknown, and it runs no command", name);
    if (targets_.targets.contains("") && !before_.first.empty() && after_.first != before_.first &&
        !surely_reached(after_, {after_.first}).contains(before_.first))
      return fmt::format("makes `{}` the first target, which a gate runs", after_.first);
    return "";
  }

  RuleOf of_base(const Rule& rule) const { return {before_, rule, own_before_}; }
  RuleOf of_work(const Rule& rule) const { return {after_, rule, own_after_, &used_}; }

  bool is_named(const std::string& name) const {
    return targets_.targets.contains(name) || (targets_.targets.contains("") && name == before_.first);
  }

  std::string target(const std::string& name, const Rule& old) const {
    const auto* now = rule_of(after_, name);
    const bool was_idle = may_be_idle(of_base(old)) && old.needs.empty();
    if (now == nullptr) return is_named(name) && !was_idle ? "has no rule any more" : lost(name, old);
    if (now->recipes > 1 && old.recipes <= 1) return "gets a second recipe, which make takes";
    if (now->settings.ignores && !old.settings.ignores) return "ignores each command that fails";
    if (!now->settings.runs_nothing.empty() && old.settings.runs_nothing.empty())
      return fmt::format("runs no command, or another one: `{}`", now->settings.runs_nothing);
    if (phony_targets(before_).contains(name) && !phony_targets(after_).contains(name) &&
        !makes_file(*now, name))
      return "is not .PHONY any more, so that make runs no command when a file has its name";
    if (auto why = recipe(of_base(old), of_work(*now)); !why.empty()) return why;
    return sure_names_now_.contains(name) ? "" : lost(name, old);
  }

  // The commands of targets that base does not need, as the work has them.
  bool has_new_commands() const {
    return std::ranges::any_of(sure_names_now_, [&](const auto& name) {
      if (names_.contains(name)) return false;
      if (const auto* rule = rule_of(after_, name)) return !may_be_idle(of_work(*rule));
      if (name.find('$') == name.npos && name.find('.') == name.npos) return false;
      // A pattern rule may make it.
      return std::ranges::any_of(after_.rules, [&](const auto& each) {
        return each.first.find('%') != std::string::npos && !before_.rules.contains(each.first) &&
               !may_be_idle(of_work(each.second));
      });
    });
  }

  bool is_run_elsewhere(const RecipeLine& line) const {
    return std::ranges::any_of(sure_names_now_, [&](const auto& name) {
      const auto* rule = rule_of(after_, name);
      return rule != nullptr &&
             std::ranges::find(rule->recipe, line.text, &RecipeLine::text) != rule->recipe.end();
    });
  }

  // A prerequisite that base has and the work does not. A target that makes a file is only a step on the way.
  std::string lost(const std::string& name, const Rule& old) const {
    if (!sure_names_.contains(name) || may_be_idle(of_base(old)) || makes_file(old, name)) return "";
    if (has_new_commands_ || std::ranges::all_of(old.recipe, [&](const auto& line) {
          return is_idle(of_base(old), line) || is_run_elsewhere(line);
        }))
      return "";
    return "is not run any more, or only under a condition";
  }

  std::string recipe(const RuleOf& old, const RuleOf& now) const {
    const bool was_idle = may_be_idle(old), is_idle_now = may_be_idle(now);
    const bool needs_nothing = now.rule.needs.empty() && !old.rule.needs.empty();
    if (is_idle_now && (!was_idle || needs_nothing) && !has_new_commands_) return "runs no command any more";
    if (auto why = removed_lines(old, now); !why.empty()) return why;
    if (after_.is_one_shell && !after_.shell_stops && now.rule.recipe.size() > 1) {
      if (!before_.is_one_shell || before_.shell_stops)
        return "is one script for the shell, in which only the last command counts";
      if (is_idle(now, now.rule.recipe.back()) && !old.rule.recipe.empty() &&
          !is_idle(old, old.rule.recipe.back()))
        return "ends with a command that succeeds, whatever failed before";
    }
    return hidden(old, now);
  }

  std::string removed_lines(const RuleOf& old, const RuleOf& now) const {
    const auto in = [](const Rule& rule, const RecipeLine& line, bool surely) {
      return std::ranges::any_of(rule.recipe, [&](const auto& each) {
        return each.text == line.text && (!surely || each.when.empty());
      });
    };
    const bool has_more = std::ranges::any_of(
        now.rule.recipe, [&](const auto& line) { return !in(old.rule, line, false) && !is_idle(now, line); });
    for (const auto& line : old.rule.recipe) {
      if (!line.when.empty() || is_idle(old, line) || in(now.rule, line, true)) continue;
      const auto shown = command_of(line.text).text;
      if (in(now.rule, line, false)) {
        if (is_left_out(now, line)) return fmt::format("runs `{}` only under a condition", shown);
        continue;
      }
      const auto words = words_in(line.text);
      if (!has_more && std::ranges::find(words, "-o") == words.end() && !has_new_commands_ &&
          !is_run_elsewhere(line))
        return fmt::format("does not run `{}` any more", shown);
    }
    return "";
  }

  // Whether a branch beside the one that has a line runs no command.
  static bool is_left_out(const RuleOf& now, const RecipeLine& line) {
    return std::ranges::all_of(now.rule.recipe, [&](const auto& each) {
      if (each.text != line.text) return true;
      LinesOfRule block;
      for (const auto& other : now.rule.recipe)
        if (!other.when.empty() && other.when[0].block == each.when[0].block) block.push_back(&other);
      return may_be_idle(now, block);
    });
  }

  // A command that the work adds, and whose failure make or the shell hides. A variable may stand for it.
  std::string hidden(const RuleOf& old, const RuleOf& now) const {
    const auto commands = commands_in(old), commands_now = commands_in(now);
    const TargetNames had(commands.begin(), commands.end()), has(commands_now.begin(), commands_now.end());
    // Failures that the removed commands hid already do not count.
    std::string removed;
    for (const auto& each : commands)
      if (!has.contains(each)) removed += command_of(each).text + "; ";
    const auto known = hidden_in(removed, targets_);
    const bool was_unheard = std::ranges::any_of(commands, [&](const auto& each) {
      return !has.contains(each) && !unheard_runner(command_of(each).text).empty();
    });
    for (const auto& each : commands_now) {
      if (had.contains(each)) continue;
      const auto command = command_of(each);
      auto unheard = unheard_runner(command.text);
      if (is_housekeeping(command.text) && unheard.empty()) continue;
      if (!was_unheard && !unheard.empty()) return unheard;
      if (command.ignored) return fmt::format("ignores that `{}` fails", command.text);
      for (const auto& reason : hidden_in(command.text, targets_))
        if (std::ranges::find(known, reason) == known.end())
          return "can pass although a command failed: " + reason;
    }
    return "";
  }

  // The commands that the shell gets, one for each line of a `define`.
  static std::vector<std::string> commands_in(const RuleOf& of) {
    constexpr std::size_t kBytesMax = 4 << 20;  // further lines are not expanded
    std::vector<std::string> out;
    std::size_t bytes = 0;
    for (const auto& line : of.rule.recipe) {
      const auto text = bytes > kBytesMax ? line.text : of.text_of(line);
      bytes += text.size();
      for (const std::string_view command : TextLines(text))
        if (out.size() < kCommandsMax) out.emplace_back(trimmed(command));
    }
    return out;
  }

  // Why a variable that recipes use now names a program without effect; "" when there is none.
  std::string emptied_variable() const {
    for (const auto& name : names_) {
      const auto *old = rule_of(before_, name), *now = rule_of(after_, name);
      if (old == nullptr || now == nullptr) continue;
      for (const auto& line : now->recipe) {
        const bool was_there =
            std::ranges::find(old->recipe, line.text, &RecipeLine::text) != old->recipe.end();
        if (!was_there || !is_idle(of_work(*now), line) || is_idle(of_base(*old), line)) continue;
        return emptied_in(line, name, *now);
      }
    }
    return "";
  }

  std::string emptied_in(const RecipeLine& line, const std::string& target, const Rule& rule) const {
    for (const auto* variables : {&rule.variables, &own_after_, &after_.variables})
      for (const auto& [name, value] : *variables) {
        const auto old = before_.variables.find(name);
        const bool is_same = old != before_.variables.end() && old->second == value;
        if (!is_same && (line.text.find("$(" + name + ")") != line.text.npos ||
                         line.text.find("${" + name + "}") != line.text.npos))
          return fmt::format("{} is `{}` now, and target `{}` runs it", name, value, target);
      }
    return fmt::format("target `{}`, which a gate runs, does not run `{}` any more", target,
                       command_of(line.text).text);
  }

  const Makefile &before_, &after_;
  const RunTargets& targets_;
  const TargetNames used_ = used_variables(before_);
  const TargetNames names_, sure_names_, sure_names_now_;
  const MakeVariables own_before_ = own_variables(before_, names_),
                      own_after_ = own_variables(after_, reached(after_, targets_.targets));
  const bool has_new_commands_ = has_new_commands();
};

bool reads(const Makefile& in, std::string_view path) {
  return std::ranges::find(in.files, path) != in.files.end() ||
         std::ranges::any_of(in.includes, [&](const auto& each) { return glob_matches(each.path, path); });
}

// Whether a recipe may run make in another folder.
bool may_go_elsewhere(const RunTargets& targets) {
  const auto names_make = [](const std::string& text) {
    return text.find("MAKE") != text.npos || text.find("make") != text.npos;
  };
  const auto runs_make = [&](const Makefile& in) {
    return std::ranges::any_of(in.variables, [&](const auto& each) { return names_make(each.second); }) ||
           std::ranges::any_of(in.rules, [&](const auto& each) {
             return std::ranges::any_of(each.second.recipe,
                                        [&](const auto& line) { return names_make(line.text); });
           });
  };
  return targets.makes.empty() || targets.goes_anywhere ||
         std::ranges::any_of(targets.makes,
                             [&](const auto& make) { return runs_make(make.base) || runs_make(make.now); });
}

bool reads_by_name(const MakeFolder& make, std::string_view path) {
  const auto has = [&](const Makefile& in) { return std::ranges::find(in.files, path) != in.files.end(); };
  return has(make.base) || has(make.now);
}

// Whether an included file only names files that targets need.
bool is_plain(const Makefile& in) {
  const bool has_recipe = std::ranges::any_of(in.rules, [](const auto& each) {
    return !each.second.recipe.empty() || !each.second.variables.empty() || each.first.starts_with('.');
  });
  return !has_recipe && in.variables.empty() && in.includes.empty() && in.unknown.empty() && !in.is_cut;
}

TextAt with_text(const std::string& path, const std::optional<FileVersion>& version, const TextAt& others) {
  return [path, &version, &others](const std::string& at) -> std::string {
    if (at != path) return others ? others(at) : "";
    return version && !version->is_link ? std::string(version->content) : "";
  };
}

// A file that matches a pattern after `include` counts as read after the Makefile.
std::string weakened_in(const MakeFolder& make, const FileChange& change, const RunTargets& targets) {
  if (reads_by_name(make, change.path)) return MakeComparison(make.base, make.now, targets).words();
  const auto before_text = with_text(change.path, change.before, targets.base_text),
             after_text = with_text(change.path, change.after, targets.work_text);
  if (is_plain(read_make("", {change.path}, after_text))) return "";
  auto before = make.base, after = make.now;
  read_more(before, make.folder, change.path, before_text);
  read_more(after, make.folder, change.path, after_text);
  return MakeComparison(before, after, targets).words();
}

}  // namespace

bool is_read_by_make(std::string_view path, const RunTargets& targets) {
  return std::ranges::any_of(
      targets.makes, [&](const auto& make) { return reads(make.base, path) || reads(make.now, path); });
}

std::string weakened_make(const FileChange& change, const RunTargets& targets) {
  if (targets.targets.empty()) return "";
  bool is_read = false;
  for (const auto& make : targets.makes) {
    if (!reads(make.base, change.path) && !reads(make.now, change.path)) continue;
    is_read = true;
    if (auto why = weakened_in(make, change, targets); !why.empty()) return why;
  }
  if (is_read || !is_makefile(name_of(change.path)) || !change.before || !change.after ||
      !may_go_elsewhere(targets))
    return "";
  // A Makefile of another folder, which a recipe may go to.
  const auto name = std::string(name_of(change.path));
  const auto folder =
      change.path.substr(0, change.path.size() - std::min(name.size() + 1, change.path.size()));
  return MakeComparison(read_make(folder, {name}, with_text(change.path, change.before, targets.base_text)),
                        read_make(folder, {name}, with_text(change.path, change.after, targets.work_text)),
                        targets)
      .words();
}

}  // namespace pawl::gates
