#include "plan/script.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "plan/script_tokens.h"

namespace pawl::plan {
namespace {

// `|| :` because a bash before 4.4 does not know the option.
constexpr std::string_view kInheritErrexit = "shopt -s inherit_errexit 2>/dev/null || :; ";

using Words = std::span<const std::string_view>;

bool contains(Words words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

constexpr std::array<std::string_view, 6> kShells = {"sh", "bash", "dash", "ash", "ksh", "zsh"};
// Their exit code is the answer to a question, not a failure.
constexpr std::array<std::string_view, 12> kQuestions = {"[",     "test", "[[",   "((",    "command", "type",
                                                         "which", "grep", "true", "false", ":",       "read"};
// A failure of these inside of `$(...)` shows in what they print.
constexpr std::array<std::string_view, 19> kHarmless = {
    "basename", "cat", "command", "date",     "dirname",  "echo", "git",   "hostname", "id",    "mktemp",
    "nproc",    "pwd", "printf",  "realpath", "readlink", "seq",  "uname", "which",    "whoami"};
constexpr std::array<std::string_view, 4> kConditions = {"if", "elif", "while", "until"};
constexpr std::array<std::string_view, 6> kOpening = {"then", "do", "else", "{", "(", "in"};
// Not `done`: what a loop does once can be followed by its next turn.
constexpr std::array<std::string_view, 4> kClosing = {"fi", "esac", "}", ")"};

std::string_view program_of(std::string_view word) { return word.substr(word.rfind('/') + 1); }

// The script of `sh -c SCRIPT` when no option in front of it says -e.
std::optional<std::string_view> script_of(Words words) {
  if (words.empty() || !contains(kShells, program_of(words.front()))) return std::nullopt;
  for (std::size_t i = 1; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i].starts_with("--")) continue;
    if (words[i].find('e') != words[i].npos) return std::nullopt;
    if (words[i].find('c') != words[i].npos && i + 1 < words.size()) return words[i + 1];
  }
  return std::nullopt;
}

bool has_several_commands(std::string_view script) { return script.find_first_of(";|&\n") != script.npos; }

// Every `$(...)` and backtick of the word whose command is not harmless.
bool loses_an_exit_code(std::string_view word) {
  for (std::size_t at = 0; at < word.size(); ++at) {
    const bool dollar = word.substr(at).starts_with("$(") && !word.substr(at).starts_with("$((");
    if (!dollar && word[at] != '`') continue;
    auto rest = word.substr(at + (dollar ? 2 : 1));
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n\t"), rest.size()));
    const auto command = rest.substr(0, rest.find_first_of(" \n\t)`"));
    if (!contains(kHarmless, program_of(command))) return true;
    if (!dollar) at = std::min(word.find('`', at + 1), word.size());
  }
  return false;
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != word.npos && equals > 0 && word.find_first_of("$`'\"") > equals;
}

class Script {
 public:
  Script(Shell shell, std::string_view text) : shell_(shell), tokens_(script_tokens(text)) {}

  std::vector<std::string> look() {
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      const auto& token = tokens_[at];
      if (token.is_operator) {
        look_at_operator(at);
      } else if (starts_command(at)) {
        look_at_command(at);
      }
    }
    return std::move(found_);
  }

 private:
  void say(const std::string& sentence) {
    if (std::ranges::find(found_, sentence) == found_.end()) found_.push_back(sentence);
  }

  bool is_operator(std::size_t at, std::string_view text) const {
    return at < tokens_.size() && tokens_[at].is_operator && tokens_[at].text == text;
  }
  bool ends_list(std::size_t at) const {
    return is_operator(at, ";") || is_operator(at, "\n") || is_operator(at, ";;") || is_operator(at, "&");
  }
  bool starts_command(std::size_t at) const {
    if (at == 0) return true;
    const auto& before = tokens_[at - 1];
    return before.is_operator || contains(kConditions, before.text) || contains(kOpening, before.text) ||
           before.text == "!";
  }

  std::vector<std::string_view> words_from(std::size_t at) const {
    std::vector<std::string_view> out;
    for (; at < tokens_.size() && !tokens_[at].is_operator; ++at) out.push_back(tokens_[at].text);
    return out;
  }

  // Whether a command comes after the list that `at` is in: then the exit code of that list can be lost.
  bool is_followed(std::size_t at) const {
    while (at < tokens_.size() && !ends_list(at)) ++at;
    for (; at < tokens_.size(); ++at)
      if (!ends_list(at) && !contains(kClosing, tokens_[at].text)) return true;
    return false;
  }

  // The first command of the list that `at` is in.
  std::string_view first_of_list(std::size_t at) const {
    while (at > 0 && !ends_list(at - 1) && !contains(kOpening, tokens_[at - 1].text)) --at;
    return tokens_[at].text;
  }

  void look_at_operator(std::size_t at) {
    const auto next = words_from(at + 1);
    if (shell_ == Shell::kSh && (is_operator(at, "|") || is_operator(at, "|&")))
      say("sh counts only the last command of a pipeline; `shell: bash` counts all of them");
    if (is_operator(at, "&")) say("the exit code of a command that `&` starts is lost");
    if (is_operator(at, "||") && !next.empty()) {
      const auto word = program_of(next.front());
      const bool leaves_well = word == "exit" && (next.size() > 1 && next[1] == "0");
      if (word == "true" || word == ":" || word == "echo" || word == "printf" || leaves_well)
        say("`|| " + std::string(word) + "` hides the failure of the command before it");
    }
    const bool conditional = contains(kConditions, first_of_list(at));
    if (is_operator(at, "&&") && !conditional && !contains(kQuestions, first_of_list(at)) && is_followed(at))
      say("when a command before `&&` fails, the script goes on with the next line: write each on its own "
          "line");
  }

  void look_at_command(std::size_t at) {
    const auto words = words_from(at);
    const auto first = words.front();
    if (contains(kConditions, first)) return look_at_condition(words);
    const bool asked = at > 0 && contains(kConditions, tokens_[at - 1].text);
    if (first == "!" && !asked && is_followed(at))
      say("`!` before a command keeps its exit code from ending the script");
    if (first == "set") look_at_set(words);
    if (first == "trap" && words.size() > 1 && words[1].find("exit") != words[1].npos)
      say("a trap that calls `exit` replaces the exit code");
    if (first == "find" && contains(words, "-exec") && (contains(words, "\\;") || contains(words, "';'")))
      say("`find -exec ... \\;` ends with 0 whatever its commands do; `-exec ... +` does not");
    if (const auto script = script_of(words); script && has_several_commands(*script))
      say("a script of `" + std::string(first) + " -c` without -e ends with its last command's exit code");
    look_at_substitutions(words);
  }

  void look_at_condition(const std::vector<std::string_view>& words) {
    const std::size_t command = words.size() > 1 && words[1] == "!" ? 2 : 1;
    if (words.size() > command && !contains(kQuestions, program_of(words[command])))
      say("a command after `" + std::string(words.front()) +
          "` never ends the script: its failure is a branch");
  }

  void look_at_set(const std::vector<std::string_view>& words) {
    for (const auto word : words)
      if (word.starts_with('+') && (word.find('e') != word.npos || word.find('o') != word.npos))
        say("`set " + std::string(word) + "` lets the script go on after a failure");
  }

  void look_at_substitutions(const std::vector<std::string_view>& words) {
    const auto command = std::ranges::find_if_not(words, is_assignment);
    if (command == words.end() || contains(kQuestions, *command))
      return;  // an assignment keeps the exit code
    for (const auto word : words) {
      if (word.starts_with("<(") || word.starts_with(">(")) say("the exit code of `<(...)` is lost");
      if (loses_an_exit_code(word)) say("the exit code of `$(...)` among a command's words is lost");
    }
  }

  const Shell shell_;
  const std::vector<ScriptToken> tokens_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> script_argv(Shell shell, const std::string& script) {
  static constexpr const char* kChoose =
      R"(command -v bash >/dev/null && exec bash -e -o pipefail -c "$1$2"; exec sh -e -c "$2")";
  switch (shell) {
    case Shell::kSh:
      return {"sh", "-e", "-c", script};
    case Shell::kBash:
      return {"bash", "-e", "-o", "pipefail", "-c", std::string(kInheritErrexit) + script};
    case Shell::kBest:
      break;
  }
  return {"sh", "-c", kChoose, "sh", std::string(kInheritErrexit), script};
}

std::vector<std::string> hidden_failures(Shell shell, std::string_view script) {
  return Script(shell, script).look();
}

std::vector<std::string> hidden_failures(const std::vector<std::string>& argv) {
  const std::vector<std::string_view> words(argv.begin(), argv.end());
  const auto script = script_of(words);
  if (!script || !has_several_commands(*script)) return {};
  return {"a script of `" + argv.front() + " -c` without -e ends with its last command's exit code"};
}

}  // namespace pawl::plan
