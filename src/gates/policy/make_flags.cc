#include "gates/policy/make_flags.h"

#include <algorithm>
#include <array>

#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kNameMin = 4;  // bytes of a long option that is cut: "--ig"

// The letters of a bundle. After a letter that takes a value comes the value.
std::string_view letters_in(std::string_view word) {
  constexpr std::string_view kWithValue = "jlOfCIWE";
  return word.substr(0, word.find_first_of(kWithValue));
}

bool is_shell(std::string_view word) {
  return is_any_of(name_of(word),
                   {"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish", "cmd.exe", "pwsh"});
}

// Whether a value of SHELL names an installed shell that runs commands.
bool runs_commands(std::string_view value) {
  // "$(shell which bash)" and "$(shell command -v bash || command -v sh)".
  if (value.starts_with("$(shell")) {
    const bool looks = value.find("which ") != value.npos || value.find("command -v ") != value.npos ||
                       value.find("type -p ") != value.npos;
    const auto last = value.substr(value.find_last_of(" \t") + 1);
    return looks && value.ends_with(')') && is_shell(last.substr(0, last.find(')')));
  }
  auto words = words_in(value);
  if (words.size() > 1 && name_of(words.front()) == "env") {
    words.erase(words.begin());
    if (words.front() == "-S") words.erase(words.begin());
  }
  if (words.empty() || !is_shell(words.front()) || words.front().find('$') != std::string_view::npos)
    return false;
  const bool is_own = words.front().find('/') != std::string_view::npos &&
                      (!words.front().starts_with('/') || words.front().starts_with("/workspace"));
  return !is_own && std::ranges::all_of(words.begin() + 1, words.end(), [](auto word) {
    return is_any_of(word, {"pipefail", "errexit", "nounset", "sh", "bash", "ash"}) ||
           (word.starts_with('-') && !has_shell_flag(word, 'n'));
  });
}

// Long options of shells with which they run commands as without.
constexpr auto kShellOptions = std::to_array<std::string_view>(
    {"--login", "--noediting", "--noprofile", "--norc", "--posix", "--restricted", "--verbose"});

// Whether a value of .SHELLFLAGS has the shell run another word than the recipe's line, or only read it.
bool skips_commands(std::string_view value) {
  // bash -D prints strings that are to be translated, and runs no command.
  if (has_shell_flag(value, 'n') || has_shell_flag(value, 'D')) return true;
  bool takes_name = false;
  for (const auto word : words_in(value)) {
    if (takes_name && word == "noexec") return true;
    if (word.starts_with("--") && std::ranges::find(kShellOptions, word) == kShellOptions.end()) return true;
    const bool is_option = word.starts_with('-') || word.starts_with('+');
    if (!is_option && !takes_name) return true;
    takes_name = is_option && word.ends_with('o');
  }
  return false;
}

// Whether letters are put after the flags that make has: "$(MAKEFLAGS)i".
bool is_composed(std::string_view flags) {
  for (const std::string_view own : {"$(MAKEFLAGS)", "${MAKEFLAGS}", "$(MFLAGS)"})
    if (const auto at = flags.find(own); at != flags.npos) {
      const auto behind = flags.substr(at + own.size(), 1);
      if (!behind.empty() && behind != " " && behind != "\t") return true;
    }
  return false;
}

}  // namespace

bool has_flag(std::string_view flags, char letter, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(words_in(flags), [&](std::string_view word) {
    if (word.starts_with("--")) {
      word = word.substr(0, word.find('='));
      return word.size() >= kNameMin &&
             std::ranges::any_of(names, [&](auto name) { return name.starts_with(word); });
    }
    return word.starts_with('-') && letters_in(word).find(letter) != word.npos;
  });
}

bool has_shell_flag(std::string_view flags, char letter) {
  return std::ranges::any_of(words_in(flags), [&](std::string_view word) {
    return word.starts_with('-') && !word.starts_with("--") && word.find(letter) != word.npos;
  });
}

void read_setting(std::string_view name, std::string_view value, const std::string& line, MakeSettings& to) {
  if (name == "MAKEFLAGS" || name == "GNUMAKEFLAGS") {
    // The first word may be letters without a dash.
    const auto words = words_in(value);
    const bool is_bare = !words.empty() && !words[0].starts_with('-') && !words[0].starts_with('$') &&
                         words[0].find('=') == std::string_view::npos;
    auto flags = (is_bare ? "-" : "") + std::string(value);
    if (is_composed(flags)) to.runs_nothing = line;
    std::ranges::replace_if(
        flags, [](char c) { return c == ',' || c == '(' || c == ')'; }, ' ');
    to.ignores = to.ignores || has_flag(flags, 'i', {"--ignore-errors"});
    if (has_flag(flags, 'n', {"--dry-run", "--just-print", "--recon"}) || has_flag(flags, 't', {"--touch"}) ||
        has_flag(flags, 'q', {"--question"}) || has_flag(flags, 'o', {"--assume-old", "--old-file"}))
      to.runs_nothing = line;
  }
  if (!steering_variable(name, value).empty()) to.runs_nothing = line;
  if (name == ".SHELLFLAGS" && skips_commands(value)) to.runs_nothing = line;
  if (name == "SHELL" && !runs_commands(value)) to.runs_nothing = line;
}

}  // namespace pawl::gates
