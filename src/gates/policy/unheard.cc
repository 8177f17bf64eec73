#include "gates/policy/unheard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "gates/policy/script_programs.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// A command, and what stands between it and the next one.
struct Part {
  std::string_view text;
  std::string_view end;  // ";", "\n", "&", "&&", "|", "||", "(", ")" or "" at the end
};

// Programs that print what they read. None fails because of a failure in it.
constexpr auto kFilters =
    std::to_array<std::string_view>({"awk", "cat", "column", "cut", "fold", "head", "less", "more", "nl",
                                     "sed", "sort", "tail", "tee", "tr", "ts", "uniq", "wc"});

// Where the quoted text ends whose quote is at `at`.
std::size_t end_of_quoted(std::string_view script, std::size_t at) {
  const char quote = script[at];
  for (++at; at < script.size() && script[at] != quote; ++at)
    if (script[at] == '\\' && quote == '"') ++at;
  return std::min(at + 1, script.size());
}

std::vector<Part> parts_of(std::string_view script) {
  std::vector<Part> out;
  std::size_t start = 0;
  const auto add = [&](std::size_t at, std::size_t size) {
    out.push_back({.text = trimmed(script.substr(start, at - start)), .end = script.substr(at, size)});
    start = at + size;
  };
  for (std::size_t at = 0; at < script.size() && out.size() < kCommandsMax;) {
    const char c = script[at];
    if (c == '\'' || c == '"') {
      at = end_of_quoted(script, at);
    } else if (c == '\\') {
      at += 2;
    } else if (std::string_view(";\n&|()").find(c) != std::string_view::npos) {
      const bool is_redirection = c == '&' && at > 0 && (script[at - 1] == '>' || script[at - 1] == '<');
      const bool is_double = (c == '&' || c == '|') && at + 1 < script.size() && script[at + 1] == c;
      const std::size_t size = is_double ? 2 : 1;
      if (!is_redirection && !(c == '&' && script.substr(at + 1).starts_with('>'))) add(at, size);
      at += size;
    } else {
      ++at;
    }
  }
  if (start < script.size()) add(script.size(), 0);
  return out;
}

std::string_view first_word(std::string_view text) {
  const auto words = words_of_command(text);
  return words.empty() ? std::string_view() : words.front();
}

// Where the text in round brackets ends whose first character is at `at`.
std::size_t end_of_bracket(std::string_view script, std::size_t at) {
  for (int open = 1; at < script.size(); ++at) {
    if (script[at] == '\'') {
      at = end_of_quoted(script, at) - 1;
      continue;
    }
    open += script[at] == '(' ? 1 : script[at] == ')' ? -1 : 0;
    if (open == 0) return at;
  }
  return script.size();
}

// Whether a command with a substitution only sets variables: then its result is that of the substitution.
bool only_assigns(std::string_view before, std::string_view behind) {
  if (!before.empty() && (before.back() == '"')) before.remove_suffix(1);
  behind = trimmed(behind);
  if (behind.starts_with('"')) behind.remove_prefix(1);
  before = trimmed(before);
  return before.ends_with('=') && std::ranges::all_of(before.substr(0, before.size() - 1), is_word) &&
         trimmed(behind).empty();
}

// A test runner in "$(...)", "`...`" or "<(...)" of a command that has a result of its own; "" when there is none.
std::string lost_substitution(std::string_view script) {
  bool in_quotes = false;
  std::size_t start = 0;  // where the command begins
  for (std::size_t at = 0; at < script.size(); ++at) {
    const char c = script[at];
    const auto rest = script.substr(at);
    if (c == '\\') {
      ++at;
    } else if (c == '\'' && !in_quotes) {
      at = end_of_quoted(script, at) - 1;
    } else if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == '`' || (rest.starts_with("$(") && !rest.starts_with("$((")) || rest.starts_with("<(")) {
      const auto first = at + (c == '`' ? 1 : 2);
      const auto end =
          c == '`' ? std::min(script.find('`', first), script.size()) : end_of_bracket(script, first);
      auto inner = script.substr(first, end - first);
      if (inner.starts_with("shell ")) inner.remove_prefix(6);  // a function of make
      const auto stop = std::min(script.find_first_of(";\n&|", end), script.size());
      const auto behind = script.substr(std::min(end + 1, stop), stop - std::min(end + 1, stop));
      const auto commands = commands_of(inner);
      if (std::ranges::any_of(commands, runs_tests) &&
          !only_assigns(script.substr(start, at - start), behind))
        return fmt::format("does not hear a failure of `{}`", trimmed(inner));
      at = end;
    } else if (!in_quotes && std::string_view(";\n&|(").find(c) != std::string_view::npos) {
      start = at + 1;
    }
  }
  return "";
}

class Listener {
 public:
  explicit Listener(std::string_view script)
      : parts_(parts_of(script)),
        stops_(script.find("set -e") != script.npos || script.find("errexit") != script.npos),
        has_pipefail_(script.find("pipefail") != script.npos) {}

  std::string words() const {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (runs_tests(parts_[i].text))
        if (auto why = missed(i); !why.empty()) return why;
    return "";
  }

 private:
  // Whether a part after the one at `i` has the text.
  bool has_later(std::size_t i, std::string_view text) const {
    return std::any_of(parts_.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts_.end(),
                       [&](const auto& part) { return part.text.find(text) != part.text.npos; });
  }
  bool ends_by_hand(std::size_t i) const {
    return has_later(i, "exit 1") || has_later(i, "exit $") || has_later(i, "exit \"$") ||
           has_later(i, "false");
  }

  std::string missed(std::size_t i) const {
    const auto first = first_word(parts_[i].text);
    if (first == "!") return "takes a failure of its tests for success";
    if (is_any_of(first, {"elif", "if", "until", "while"}))
      return ends_by_hand(i) ? "" : "does not fail when its tests do";
    if (first == "then" && !has_later(i, "else")) return "runs its tests only under a condition";
    for (auto before = i; before > 0 && parts_[before - 1].end != "\n"; --before) {
      const auto& part = parts_[before - 1];
      const auto words = words_of_command(part.text);
      if (part.end == "||" && !runs_tests(part.text)) return "runs its tests only when another command fails";
      if (!words.empty() && words[0] == "exit" && (words.size() == 1 || words[1] == "0"))
        return "ends before its tests";
      if (part.end != "&&" && part.end != "||") break;
    }
    return lost_behind(i);
  }

  // Tells how the script loses the result of the part at `i`.
  std::string lost_behind(std::size_t i) const {
    while (i + 1 < parts_.size() && parts_[i].end == ")") ++i;
    const auto end = parts_[i].end;
    // Without the number of a process, wait ends with 0.
    if (end == "&")
      return has_later(i, "wait $") || has_later(i, "wait \"$") || has_later(i, "wait %") ||
                     has_later(i, "wait -n")
                 ? ""
                 : "does not wait for its tests";
    auto next = i + 1;
    while (next < parts_.size() && parts_[next].text.empty()) ++next;
    if (next == parts_.size()) return "";
    const auto follower = first_word(parts_[next].text);
    if (end == "|" && !has_pipefail_ && std::ranges::find(kFilters, name_of(follower)) != kFilters.end())
      return fmt::format("loses a failure of its tests in a pipe to `{}`", follower);
    const bool goes_on = !is_any_of(follower, {"}", "do", "done", "elif", "else", "esac", "fi", "then"});
    if (is_any_of(end, {";", "\n"}) && goes_on && !stops_ && !ends_by_hand(i))
      return fmt::format("goes on after a failure of its tests, with `{}`", parts_[next].text);
    return "";
  }

  const std::vector<Part> parts_;
  const bool stops_, has_pipefail_;
};

}  // namespace

std::string unheard_runner(std::string_view script) {
  script = script.substr(0, kCommandBytesMax);
  const auto why = Listener(script).words();
  return why.empty() ? lost_substitution(script) : why;
}

}  // namespace pawl::gates
