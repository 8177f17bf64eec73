#include "gates/reading/fallback.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::string_view kOr = "||", kBlanks = " \t\r\n";

std::string_view stripped(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Whether a command is `exit` with a code other than 0. `first`: $? is the code of the failed left side.
bool is_failing_exit(std::string_view command, bool first) {
  constexpr std::string_view kExit = "exit";
  command = stripped(command);
  if (!command.starts_with(kExit)) return false;
  const auto behind = command.substr(kExit.size());
  const auto code = stripped(behind);
  if (code.empty() || code == "$?") return first;
  constexpr std::size_t kDigitsMost = 3;
  const bool is_number = code.size() <= kDigitsMost && std::ranges::all_of(code, is_digit);
  return code.size() < behind.size() && is_number && std::stoi(std::string(code)) % 256 != 0;
}

// Whether a command only shows something.
bool only_shows(std::string_view command) {
  constexpr std::array<std::string_view, 7> kShow = {":", "cat", "echo", "head", "ls", "printf", "tail"};
  command = stripped(command);
  const bool is_one = command.find_first_of("|<`") == command.npos && command.find("&&") == command.npos &&
                      command.find("$(") == command.npos && !command.ends_with('&') &&
                      command.find("& ") == command.npos;
  return is_one && std::ranges::find(kShow, command.substr(0, command.find_first_of(kBlanks))) != kShow.end();
}

// Whether the text after `||` ends the script with a code other than 0 and runs no program but to show why.
bool ends_script(std::string_view right) {
  right = stripped(right);
  const bool is_group = right.starts_with("{ ") || right.starts_with("{\n");
  if (!is_group) return is_failing_exit(right.substr(0, right.find_first_of(";\n&|)}")), true);
  right = right.substr(1, right.find('}') == right.npos ? 0 : right.find('}') - 1);
  for (bool first = true; !right.empty();) {
    const auto end = std::min(right.find_first_of(";\n"), right.size());
    const auto command = stripped(right.substr(0, end));
    right.remove_prefix(std::min(end + 1, right.size()));
    if (command.empty()) continue;
    if (is_failing_exit(command, first)) return true;
    if (!only_shows(command)) return false;
    first = false;
  }
  return false;
}

// The last command of a text. The "&" of "2>&1" and of "&>log" does not end a command.
std::string_view last_command(std::string_view text) {
  constexpr std::string_view kEnds = "\n;&|(){}`";
  for (std::size_t at = text.size(); at > 0; --at) {
    const char c = text[at - 1];
    const bool redirects =
        c == '&' && ((at > 1 && text[at - 2] == '>') || (at < text.size() && text[at] == '>'));
    if (kEnds.find(c) != kEnds.npos && !redirects) return stripped(text.substr(at));
  }
  return stripped(text);
}

// Calls `see` with the texts before and after each `||`.
template <class See>
void each_or(std::string_view script, const See& see) {
  for (auto at = script.find(kOr); at != script.npos; at = script.find(kOr, at + kOr.size()))
    see(script.substr(0, at), script.substr(at + kOr.size()));
}

}  // namespace

bool has_fallback(std::string_view script) {
  bool found = false;
  each_or(script, [&](auto, auto right) { found = found || !ends_script(right); });
  return found;
}

std::vector<std::string_view> commands_it_ends_by(std::string_view script) {
  std::vector<std::string_view> out;
  each_or(script, [&](auto left, auto right) {
    if (ends_script(right)) out.push_back(last_command(left));
  });
  return out;
}

}  // namespace pawl::gates
