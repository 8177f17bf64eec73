#include "plan/script_words.h"

#include <algorithm>
#include <array>

namespace pawl::plan {
namespace {

using Names = std::span<const std::string_view>;

bool contains(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

constexpr std::array<std::string_view, 6> kShells = {"sh", "bash", "dash", "ash", "ksh", "zsh"};
// Programs whose option -c is a script for a shell.
constexpr std::array<std::string_view, 4> kRunScripts = {"su", "runuser", "flock", "script"};
constexpr std::array<std::string_view, 11> kStarters = {
    "env", "command", "builtin", "nice", "nohup", "sudo", "setsid", "time", "timeout", "exec", "pawl-acp"};
constexpr std::array<std::string_view, 13> kQuestions = {
    "[", "test", "[[", "which", "type", "grep", "egrep", "fgrep", "hash", "true", "false", ":", "read"};
constexpr std::array<std::string_view, 23> kSayers = {
    "echo",     "printf",   "true",    ":",     "set",     "shopt", "trap",   "export",
    "readonly", "local",    "declare", "unset", "typeset", "exit",  "return", "break",
    "shift",    "continue", "sleep",   "umask", "wait",    "kill",  "alias"};
constexpr std::array<std::string_view, 27> kPrinters = {
    "basename", "cat",  "cd",     "cut",   "date", "dirname",  "git",      "head", "hostname",
    "id",       "jq",   "mktemp", "nproc", "pwd",  "readlink", "realpath", "sed",  "seq",
    "sort",     "tail", "tr",     "uname", "uniq", "wc",       "whoami",   "awk",  "expr"};
// The subset of kPrinters that always prints, or prints no text only for an empty input.
constexpr std::array<std::string_view, 16> kPrintAlways = {
    "basename", "dirname",  "pwd", "cd",     "wc",   "seq",    "expr", "nproc",
    "uname",    "hostname", "id",  "whoami", "date", "mktemp", "tr",   "cut"};
// A shell's name among the arguments of these programs is only a word.
constexpr std::array<std::string_view, 6> kTalkOfPrograms = {"echo", "printf", "grep", "test", "[", "[["};

// Reads the options after a shell's name: those of POSIX.1-2017, and additions of bash.
std::optional<NestedShell> shell_at(const PlainWords& words, std::size_t at) {
  NestedShell out{.name = words[at]};
  out.inherits = program_of(words[at]) != "bash";
  bool is_script = false, reads_input = false;
  for (++at; at < words.size() && words[at].size() > 1 && (words[at][0] == '-' || words[at][0] == '+');
       ++at) {
    const std::string& word = words[at];
    const bool on = word[0] == '-';
    if (word == "--rcfile" || word == "--init-file") ++at;
    if (word.starts_with("--")) continue;
    for (const char letter : word.substr(1)) {
      if (letter == 'e') out.errexit = on;
      if (letter == 'c') is_script = on;
      if (letter == 's') reads_input = on;
      if ((letter != 'o' && letter != 'O') || at + 1 >= words.size()) continue;
      const auto& option = words[++at];
      if (option == "errexit") out.errexit = on;
      if (option == "pipefail") out.pipefail = on;
      if (option == "inherit_errexit" || option == "posix") out.inherits = on;
    }
  }
  if (is_script && at >= words.size()) return std::nullopt;
  if (is_script) out.script = words[at];
  return is_script || reads_input || at >= words.size() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::string plain(std::string_view word) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool escapes =
        c == '\\' && i + 1 < word.size() && quote != '\'' &&
        (quote == 0 || std::string_view("\"\\$`").find(word[i + 1]) != std::string_view::npos);
    if (escapes) {
      out += word[++i];
    } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view program_of(std::string_view word) { return word.substr(word.rfind('/') + 1); }

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != word.npos && equals > 0 && word.find_first_of("$`'\"{") > equals;
}

PlainWords command_words(std::span<const ScriptWord> words) {
  std::size_t at = 0;
  while (at < words.size() && is_assignment(words[at].text)) ++at;
  PlainWords out;
  bool starter = false;
  for (; at < words.size(); ++at) {
    auto word = plain(words[at].text);
    if (out.empty() && starter &&
        (word.starts_with('-') || is_assignment(words[at].text) || (word[0] >= '0' && word[0] <= '9')))
      continue;
    const bool asks_for = program_of(word) == "command" && at + 1 < words.size() &&
                          (words[at + 1].text == "-v" || words[at + 1].text == "-V");
    if (out.empty() && asks_for) return {"type"};
    if (out.empty() && contains(kStarters, program_of(word)) && at + 1 < words.size()) {
      starter = true;
      continue;
    }
    out.push_back(std::move(word));
  }
  return out;
}

bool asks(const PlainWords& command) {
  return !command.empty() && (contains(kQuestions, program_of(command[0])) || command[0].starts_with("(("));
}

bool only_says(const PlainWords& command) {
  if (command.empty()) return true;
  const bool fails = (command[0] == "exit" || command[0] == "return") && command.size() > 1 &&
                     command[1] != "0" && command[1] != "$?";
  return contains(kSayers, program_of(command[0])) && !fails;
}

bool shows_failure(const PlainWords& command, bool emptiness) {
  if (asks(command) || only_says(command)) return true;
  return emptiness ? contains(kPrintAlways, program_of(command[0]))
                   : contains(kPrinters, program_of(command[0]));
}

std::optional<NestedShell> nested_shell(const PlainWords& words) {
  if (words.empty() || contains(kTalkOfPrograms, program_of(words[0]))) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto program = program_of(words[i]);
    if (contains(kShells, program)) {
      auto shell = shell_at(words, i);
      // A name may only look like a shell's (`make bash`). Then no shell reads a script.
      if (shell && (shell->script || i == 0)) return shell;
    }
    if (!contains(kRunScripts, program)) continue;
    const auto option = std::ranges::find(words, "-c");
    if (option != words.end() && option + 1 != words.end())
      return NestedShell{.name = words[i], .script = *(option + 1), .inherits = true};
  }
  return std::nullopt;
}

}  // namespace pawl::plan
