#include "gates/policy/makefile.h"

#include <algorithm>
#include <optional>

#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kCallBytesMax = 1 << 10;  // for a call that looks for a program

TargetNames followed(const Makefile& in, const TargetNames& targets, TargetNames Rule::*needs) {
  std::vector<std::string> todo;
  for (const auto& target : targets) todo.push_back(target.empty() ? in.first : target);
  TargetNames out;
  while (!todo.empty() && out.size() < kTargetsMax) {
    const auto target = std::move(todo.back());
    todo.pop_back();
    if (!out.insert(target).second) continue;
    if (const auto rule = in.rules.find(target); rule != in.rules.end())
      todo.insert(todo.end(), (rule->second.*needs).begin(), (rule->second.*needs).end());
  }
  return out;
}

// The program that "shell command -v python3" or "shell which a || which b" looks for, by its name; "" when the
// text is another one.
std::string looked_for(std::string_view call) {
  auto words = words_in(call);
  if (words.empty() || words[0] != "shell") return "";
  std::string out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_any_of(words[i], {"||", "2>/dev/null", "echo", "which", "command", "-v", "type", "-p"})) continue;
    if (words[i].find_first_of("/$;&|<>`\"'") != std::string_view::npos) return "";
    if (out.empty()) out = words[i];
  }
  return words.size() > 1 && is_any_of(words[1], {"which", "command", "type"}) ? out : "";
}

// The value of a variable with the arguments of "call NAME,a,b" in place of "$(1)" and "$(2)"; nullopt when there
// is no such variable.
std::optional<std::string> called(std::string_view call, const MakeVariables& variables) {
  constexpr std::string_view kCall = "call ";
  if (!call.starts_with(kCall)) return std::nullopt;
  std::vector<std::string_view> parts;
  for (std::size_t start = kCall.size(); start <= call.size();) {
    const auto end = std::min(call.find(',', start), call.size());
    parts.push_back(call.substr(start, end - start));
    start = end + 1;
  }
  const auto value = variables.find(trimmed(parts[0]));
  if (value == variables.end()) return std::nullopt;
  constexpr std::size_t kPartsMax = 10;
  auto out = value->second;
  for (std::size_t i = 1; i < std::min(parts.size(), kPartsMax); ++i)
    for (const auto& name : {"$(" + std::to_string(i) + ")", "$" + std::to_string(i)})
      for (auto at = out.find(name); at != out.npos && out.size() <= kCommandBytesMax;
           at = out.find(name, at + parts[i].size()))
        out.replace(at, name.size(), parts[i]);
  return out;
}

// The next place of a character, for places that grow. An agent wrote the line: it is read once.
class Next {
 public:
  Next(std::string_view line, char c) : line_(line), c_(c), found_(std::min(line.find(c), line.size())) {}
  std::size_t from(std::size_t at) {
    if (found_ < at) found_ = std::min(line_.find(c_, at), line_.size());
    return found_;
  }

 private:
  const std::string_view line_;
  const char c_;
  std::size_t found_;
};

}  // namespace

MakeCommand command_of(std::string_view line) {
  MakeCommand out;
  while (!line.empty() && std::string_view("@-+ \t").find(line.front()) != std::string_view::npos) {
    out.ignored = out.ignored || line.front() == '-';
    line.remove_prefix(1);
  }
  Next close(line, ')'), space(line, ' ');
  // "$(CC)" is a variable of make and not a command of the shell. "$$" is the shell's "$".
  for (std::size_t at = 0; at < line.size();) {
    const auto rest = line.substr(at);
    const auto closes = rest.starts_with("$(") ? close.from(at) - at : rest.size();
    const bool is_call = closes <= kCallBytesMax && rest.starts_with("$(shell ");
    const auto program = is_call && closes < rest.size() ? looked_for(rest.substr(2, closes - 2)) : "";
    const bool is_name = closes < rest.size() && space.from(at) > at + closes;
    if (!program.empty() || is_name) {
      out.text += program.empty() ? rest.substr(2, closes - 2) : program;
      at += closes + 1;
      continue;
    }
    at += rest.starts_with("$$") ? 1 : 0;
    out.text += line[at++];
  }
  return out;
}

TargetNames reached(const Makefile& in, const TargetNames& targets) {
  return followed(in, targets, &Rule::needs);
}

TargetNames surely_reached(const Makefile& in, const TargetNames& targets) {
  return followed(in, targets, &Rule::sure_needs);
}

bool makes_file(const Rule& rule, std::string_view target) {
  return std::ranges::any_of(rule.recipe, [&](const auto& line) {
    const auto words = words_in(line.text);
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

TargetNames phony_targets(const Makefile& in) {
  TargetNames out;
  if (const auto rule = in.rules.find(".PHONY"); rule != in.rules.end())
    for (const auto& need : rule->second.sure_needs) {
      const auto names = expanded(need, in.variables);
      for (const auto name : words_in(names)) out.emplace(name);
    }
  return out;
}

TargetNames replaceable(const Makefile& in, const TargetNames& targets) {
  const auto phony = phony_targets(in);
  TargetNames out, seen;
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

std::string expanded(std::string text, const MakeVariables& variables) {
  constexpr int kMost = 20;  // a variable may name itself
  std::size_t from = 0;
  for (int i = 0; i < kMost;) {
    const auto start = text.find('$', from);
    if (start == text.npos || start + 1 >= text.size()) break;
    if (text[start + 1] == '$') {
      from = start + 2;
      continue;
    }
    const auto end = text.find(text[start + 1] == '{' ? '}' : ')', start);
    if (end == text.npos || text.size() > kCommandBytesMax) break;
    ++i;
    const auto name = text.substr(start + 2, end - start - 2);
    const auto value = variables.find(name);
    if (auto call = called(name, variables))
      text.replace(start, end + 1 - start, *call);
    else if (value == variables.end() && name != "CURDIR")
      from = start + 1;
    else
      text.replace(start, end + 1 - start, name == "CURDIR" ? "." : value->second);
  }
  return text;
}

bool is_makefile(std::string_view name) {
  return is_any_of(name, {"GNUmakefile", "GNUmakefile.in", "Makefile", "Makefile.am", "Makefile.in",
                          "makefile", "makefile.in"}) ||
         name.ends_with(".mk") || name.ends_with(".mk.in");
}

}  // namespace pawl::gates
