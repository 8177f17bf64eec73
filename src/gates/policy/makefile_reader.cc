#include <algorithm>
#include <utility>

#include "base/lines.h"
#include "gates/policy/make_flags.h"
#include "gates/policy/makefile.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kRecipeBytesMax = 1 << 20;  // bytes of all recipes of a Makefile
constexpr std::size_t kRecipeLinesMax = 20'000;   // in all recipes: each may name a variable of any size
constexpr std::size_t kConditionsMax = 64;        // conditions inside each other

// The lines of a text. A line that ends in a backslash is joined with the next one.
Lines logical_lines(std::string_view text) {
  Lines out;
  bool goes_on = false;
  for (const auto each : TextLines(text)) {
    std::string line(each);
    if (line.ends_with('\r')) line.pop_back();
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

// A line of a Makefile outside of recipes without its comment.
std::string_view without_comment(std::string_view line) {
  for (auto at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] != '\\') return trimmed(line.substr(0, at));
  return trimmed(line);
}

// An assignment: "NAME = value", "export NAME ?= value".
struct Assignment {
  std::string name, value;
  char kind = '=';  // the character before the sign: ':', '?', '+', '!'
};

// Reads an assignment of a line. `name` of the result is empty when the line has none.
Assignment assignment_in(std::string_view line, const MakeVariables& variables) {
  Assignment out;
  const auto sign = line.find('=');
  if (sign == line.npos) return out;
  auto name = line.substr(0, sign);
  if (!name.empty() && std::string_view(":?+!").find(name.back()) != std::string_view::npos)
    out.kind = name.back();
  while (!name.empty() && std::string_view(":?+! \t").find(name.back()) != std::string_view::npos)
    name.remove_suffix(1);
  const auto text = expanded(std::string(name), variables);
  auto words = words_in(text);
  while (words.size() > 1 && is_any_of(words.front(), {"export", "override", "private", "unexport"}))
    words.erase(words.begin());
  if (words.size() != 1 || words[0].find(':') != std::string_view::npos) return out;
  out.name = words[0];
  out.value = trimmed(line.substr(sign + 1));
  return out;
}

void assign(const Assignment& each, MakeVariables& to) {
  if (to.size() >= kTargetsMax && !to.contains(each.name)) return;
  auto& value = to[each.name];
  if (each.kind == '+')
    value += (value.empty() ? "" : " ") + each.value;
  else if (each.kind == '!')
    value = "$(shell " + each.value + ")";
  else if (each.kind != '?' || value.empty())
    value = each.value;
}

// Whether a condition compares a variable that the Makefile does not set, or sets to another word: "ifdef RELEASE",
// "ifeq ($(BUILD),release)".
bool is_off(std::string_view condition, const MakeVariables& variables) {
  const auto words = words_in(condition);
  if (words.size() == 2 && words[0] == "ifdef") return !variables.contains(words[1]);
  const auto open = condition.find('('), comma = condition.find(','), close = condition.rfind(')');
  if (!condition.starts_with("ifeq") || open == condition.npos || comma == condition.npos || close < comma ||
      close == condition.npos)
    return false;
  const auto left = expanded(std::string(trimmed(condition.substr(open + 1, comma - open - 1))), variables);
  const auto right = trimmed(condition.substr(comma + 1, close - comma - 1));
  return !right.empty() && std::ranges::all_of(right, is_word) && left != right &&
         (left.starts_with("$(") || std::ranges::all_of(left, is_word));
}

// The path, from the root, of a file that a command in a folder, or an `include` there, names.
std::string included_path(std::string folder, std::string_view word) {
  while (!word.empty()) {
    const auto end = std::min(word.find('/'), word.size());
    const auto part = word.substr(0, end);
    word.remove_prefix(std::min(end + 1, word.size()));
    if (part == "..") folder.resize(folder.find('/') == folder.npos ? 0 : folder.rfind('/'));
    if (!is_any_of(part, {"", ".", ".."})) folder += (folder.empty() ? "" : "/") + std::string(part);
  }
  return folder;
}

// Reads one file into a Makefile, and the files that it includes in its place.
class Reader {
 public:
  Reader(const std::string& folder, const TextAt& text_of, Makefile& to)
      : folder_(folder), text_of_(text_of), to_(to) {}

  void read(const std::string& path, std::string_view text) {
    to_.files.push_back(path);
    const auto file = std::exchange(file_, to_.files.size() - 1);
    const auto around = when_;
    auto open = std::exchange(open_, {});
    for (const auto& line : logical_lines(text)) take(line);
    file_ = file;
    when_ = around;
    open_ = std::move(open);
  }

 private:
  void take(const std::string& line) {
    const auto rest = without_comment(line);
    if (line.find("$(eval") != line.npos || line.find("${eval") != line.npos) add_unknown(rest);
    if (!defined_.empty()) return take_defined(line, rest);
    // Outside of a rule such a line is read like each other.
    if (!line.empty() && line.front() == prefix_ && !open_.empty())
      return take_command(trimmed(std::string_view(line).substr(1)));
    if (rest.empty() || take_condition(rest) || take_define(rest) || take_include(rest)) return;
    if (const auto each = assignment_in(rest, to_.variables); !each.name.empty())
      return take_variable(each, std::string(rest));
    take_rule(rest);
  }

  void add_header_folders(std::string_view text) {
    const auto words = words_in(text);
    for (std::size_t i = 0; i < words.size(); ++i)
      for (const std::string_view option : {"-I", "-iquote", "-isystem"}) {
        if (!words[i].starts_with(option)) continue;
        const auto value = words[i].size() > option.size() ? words[i].substr(option.size())
                           : i + 1 < words.size()          ? words[i + 1]
                                                           : std::string_view();
        if (!value.starts_with('/') && to_.header_folders.size() < kTargetsMax)
          to_.header_folders.insert(included_path(folder_, expanded(std::string(value), to_.variables)));
      }
  }

  void add_unknown(std::string_view line) {
    if (to_.unknown.size() < kTargetsMax) to_.unknown.emplace(line);
  }

  void take_defined(const std::string& line, std::string_view rest) {
    if (rest.starts_with("define ")) ++depth_;
    if (rest != "endef" || --depth_ > 0) {
      value_ += (value_.empty() ? "" : "\n") + line;
      return;
    }
    take_variable({.name = std::exchange(defined_, ""), .value = std::exchange(value_, "")},
                  std::string(rest));
  }

  bool take_define(std::string_view line) {
    auto words = words_in(line);
    while (words.size() > 1 && is_any_of(words.front(), {"export", "override"})) words.erase(words.begin());
    if (words.size() > 1 && words[0] == "undefine") {
      take_variable({.name = std::string(words[1])}, std::string(line));
      return true;
    }
    if (words.size() < 2 || words[0] != "define") return false;
    defined_ = expanded(std::string(words[1]), to_.variables);
    depth_ = 1;
    return true;
  }

  // Conditions occur inside a recipe as well as outside.
  bool take_condition(std::string_view line) {
    const auto word = line.substr(0, line.find_first_of(" \t("));
    if (is_any_of(word, {"ifeq", "ifneq", "ifdef", "ifndef"})) {
      to_.is_cut = to_.is_cut || when_.size() >= kConditionsMax || to_.blocks.size() >= kTargetsMax;
      if (to_.is_cut) return true;
      to_.blocks.emplace_back();
      when_.push_back({.block = to_.blocks.size() - 1, .is_off = is_off(line, to_.variables)});
      return true;
    }
    if (word != "else" && word != "endif") return false;
    if (when_.empty()) return true;
    if (word == "endif") {
      when_.pop_back();
      return true;
    }
    auto& block = to_.blocks[when_.back().block];
    when_.back().index = block.branches++;
    when_.back().is_off = false;
    block.has_else = block.has_else || trimmed(line.substr(word.size())).empty();
    return true;
  }

  bool take_include(std::string_view line) {
    const auto words = words_in(line);
    if (is_any_of(words[0], {"load", "-load"})) {
      add_unknown(line);
      return true;
    }
    if (!is_any_of(words[0], {"include", "-include", "sinclude"})) return false;
    open_.clear();
    const bool leads = to_.first.empty();
    const auto text =
        expanded(std::string(line.substr(line.find(words[0]) + words[0].size())), to_.variables);
    for (std::string_view one : words_in(text)) {
      const bool is_head = one.find('$') != one.npos && one.find_first_of(")}") == one.npos;
      if (is_head && is_any_of(one.substr(std::min<std::size_t>(2, one.size())),
                               {"addprefix", "addsuffix", "notdir", "patsubst", "sort", "wildcard"}))
        continue;
      if (one.find('$') == one.npos)
        while (one.ends_with(')') || one.ends_with('}')) one.remove_suffix(1);
      if (one.starts_with('/') || one.empty()) continue;
      const bool is_dependency =
          one.ends_with(".d") || one.find(".d)") != one.npos || one.find(".d,") != one.npos;
      if (one.find('$') == one.npos)
        include(included_path(folder_, one), leads);
      else if (is_dependency && text.find("shell ") == text.npos)
        include("**/*.d", leads);  // dependencies that a compiler writes
      else
        add_unknown(line);
    }
    return true;
  }

  void include(const std::string& path, bool leads) {
    to_.is_cut = to_.is_cut || to_.includes.size() >= kTargetsMax;
    if (to_.is_cut || std::ranges::find(to_.files, path) != to_.files.end()) return;
    const bool is_pattern = path.find('*') != path.npos;
    to_.includes.push_back({.path = path, .leads = leads});
    if (is_pattern || depth_of_files_ >= kConditionsMax) return;
    ++depth_of_files_;
    if (const auto text = text_of_(path); !text.empty()) read(path, text);
    --depth_of_files_;
  }

  void take_variable(Assignment each, const std::string& line) {
    open_.clear();
    // Flags of a release are not flags of the tests.
    if (std::ranges::any_of(when_, &Branch::is_off))
      if (const auto at = each.value.find("-DNDEBUG"); at != each.value.npos) each.value.erase(at, 9);
    to_.is_cut = to_.is_cut || (to_.variables.size() >= kTargetsMax && !to_.variables.contains(each.name));
    assign(each, to_.variables);
    add_header_folders(each.value);
    if (each.name == ".DEFAULT_GOAL") to_.first = expanded(each.value, to_.variables);
    if (each.name == ".RECIPEPREFIX") prefix_ = each.value.empty() ? '\t' : each.value.front();
    if (each.name == ".SHELLFLAGS") to_.shell_stops = has_shell_flag(each.value, 'e');
    read_setting(each.name, expanded(each.value, to_.variables), line, to_.settings);
  }

  void take_command(std::string_view command) {
    if (command.starts_with('#')) command = {};
    add_header_folders(command);
    for (auto& [name, has_begun] : open_) {
      auto& rule = to_.rules[name];
      begin_recipe(rule, has_begun);
      if (!command.empty()) add_command(command, rule);
    }
  }

  // The second recipe of a target replaces the first one, unless they are in two branches of a condition.
  void begin_recipe(Rule& rule, bool& has_begun) {
    if (std::exchange(has_begun, true) || is_double_) return;
    const auto excludes = [&](const RecipeLine& line) {
      for (std::size_t i = 0; i < std::min(line.when.size(), when_.size()); ++i)
        if (line.when[i].block == when_[i].block && line.when[i].index != when_[i].index) return true;
      return false;
    };
    if (rule.recipe.empty() || !std::ranges::all_of(rule.recipe, excludes)) ++rule.recipes;
    std::erase_if(rule.recipe, [&](const auto& line) { return when_.empty() || same_branches(line.when); });
  }
  bool same_branches(const std::vector<Branch>& other) const {
    return std::ranges::equal(other, when_, [](const Branch& a, const Branch& b) {
      return a.block == b.block && a.index == b.index;
    });
  }

  void add_command(std::string_view command, Rule& rule) {
    to_.bytes += command.size();
    to_.is_cut = to_.is_cut || to_.bytes > kRecipeBytesMax || rule.recipe.size() >= kTargetsMax ||
                 ++to_.lines > kRecipeLinesMax;
    if (!to_.is_cut) rule.recipe.push_back({.text = std::string(command), .file = file_, .when = when_});
  }

  // The end of "$(...)" or "${...}" at the beginning of a line.
  static std::size_t end_of_call(std::string_view line) {
    int open = 0;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '(' || line[i] == '{') ++open;
      if ((line[i] == ')' || line[i] == '}') && --open == 0) return i + 1;
    }
    return line.size();
  }

  void take_rule(std::string_view raw) {
    open_.clear();
    to_.is_cut = to_.is_cut || raw.size() > kCommandBytesMax;
    raw = raw.substr(0, kCommandBytesMax);
    auto line = std::string(raw);
    if (line.starts_with('$') && trimmed(raw.substr(end_of_call(raw))).empty()) {
      line = expanded(line, to_.variables);
      const bool only_tells =
          line.starts_with("$(info") || line.starts_with("$(warning") || line.starts_with("$(error");
      if (line.starts_with('$') && !only_tells) add_unknown(raw);
      if (line.starts_with('$')) return;
    }
    // A recipe after ';' is expanded later.
    const auto semicolon = line.find(';');
    auto head = expanded(line.substr(0, semicolon), to_.variables);
    const auto colon = head.starts_with('$') ? head.find(':', end_of_call(head)) : head.find(':');
    if (colon == head.npos) return;
    const auto behind = std::min(head.find_first_not_of(':', colon), head.size());
    is_double_ = behind - colon > 1;
    const std::string_view needs = std::string_view(head).substr(behind);
    const bool has_recipe = semicolon != line.npos;
    for (const auto target : words_in(std::string_view(head).substr(0, colon))) {
      to_.is_cut = to_.is_cut || to_.rules.size() >= kTargetsMax;
      if (to_.is_cut) return;
      take_target(std::string(target), needs);
    }
    // "test: NAME = a; b" has a value and no recipe.
    if (has_recipe && assignment_in(needs, to_.variables).name.empty())
      take_command(trimmed(std::string_view(line).substr(semicolon + 1)));
  }

  void take_target(const std::string& target, std::string_view needs) {
    auto& rule = to_.rules[target];
    if (const auto each = assignment_in(needs, to_.variables); !each.name.empty()) {
      assign(each, rule.variables);
      return read_setting(each.name, expanded(each.value, to_.variables), target + ": " + std::string(needs),
                          rule.settings);
    }
    if (target == ".IGNORE") to_.settings.ignores = true;
    if (target == ".ONESHELL") to_.is_one_shell = true;
    if (target == ".POSIX") to_.shell_stops = true;
    if (to_.first.empty() && !target.starts_with('.') && target.find('%') == target.npos) to_.first = target;
    for (const auto need : words_in(needs)) {
      if (need == "|") continue;
      rule.needs.emplace(need);
      if (when_.empty()) rule.sure_needs.emplace(need);
    }
    open_.emplace_back(target, false);
  }

  const std::string& folder_;
  const TextAt& text_of_;
  Makefile& to_;
  std::size_t file_ = 0, depth_of_files_ = 0;
  char prefix_ = '\t';
  std::vector<Branch> when_;
  std::vector<std::pair<std::string, bool>> open_;  // targets of the current rule; whether its recipe began
  bool is_double_ = false;                          // the current rule has "::"
  std::string defined_, value_;                     // the variable of the current `define`
  int depth_ = 0;                                   // `define`s inside each other
};

// Gives variables of a pattern ("t%: SHELL = x") to the targets that match it.
void apply_patterns(Makefile& to) {
  for (const auto& [pattern, of] : to.rules) {
    const auto percent = pattern.find('%');
    if (percent == pattern.npos || of.variables.empty()) continue;
    const auto start = std::string_view(pattern).substr(0, percent),
               end = std::string_view(pattern).substr(percent + 1);
    for (auto& [name, rule] : to.rules) {
      if (name.size() < pattern.size() || !name.starts_with(start) || !name.ends_with(end)) continue;
      rule.variables.insert(of.variables.begin(), of.variables.end());
      rule.settings.ignores = rule.settings.ignores || of.settings.ignores;
      if (rule.settings.runs_nothing.empty()) rule.settings.runs_nothing = of.settings.runs_nothing;
    }
  }
}

}  // namespace

void read_more(Makefile& to, const std::string& folder, const std::string& path, const TextAt& text_of) {
  const auto text = text_of(path);
  if (text.empty()) return;
  Reader(folder, text_of, to).read(path, text);
  apply_patterns(to);
}

Makefile read_make(const std::string& folder, const std::vector<std::string>& names, const TextAt& text_of) {
  Makefile out;
  for (const auto& name : names) read_more(out, folder, included_path(folder, name), text_of);
  return out;
}

}  // namespace pawl::gates
