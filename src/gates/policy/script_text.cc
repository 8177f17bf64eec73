#include "gates/policy/script_text.h"

#include <algorithm>

#include "base/lines.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Whether the last command makes a script succeed, whatever came before: "pytest; true", "pytest | tee log".
bool always_ends_well(std::string_view script) {
  script = trimmed(script);
  auto last = script.substr(script.find_last_of(";\n|") + 1);
  while (!last.empty()) {
    const auto end = std::min(last.find('&'), last.size());
    const auto words = words_in(last.substr(0, end));
    const bool ends = words.empty() || (words[0] == "exit" && (words.size() == 1 || words[1] == "0")) ||
                      is_any_of(words[0], {"true", ":", "echo", "printf", "tee", "cat", "head", "tail"});
    if (!ends) return false;
    last.remove_prefix(std::min(end + 1, last.size()));
  }
  return true;
}

// Whether a command only prints a text, looks at files, moves them, or ends with success.
bool is_idle(std::vector<std::string_view> words) {
  const auto is_before = [](std::string_view word) {
    const auto sign = word.find('=');
    return is_any_of(word, {"!", "(", "{", "builtin", "command", "do", "done", "elif", "else", "env", "exec",
                            "fi", "if", "nice", "nohup", "then", "time", "until", "while"}) ||
           (sign != word.npos && sign > 0 && std::ranges::all_of(word.substr(0, sign), is_word));
  };
  std::erase_if(words, [](auto word) { return is_any_of(word, {")", "}"}); });
  while (!words.empty() && is_before(words[0])) words.erase(words.begin());
  if (words.empty()) return true;
  auto program = words[0];
  while (program.starts_with('(') || program.starts_with('@')) program.remove_prefix(1);
  while (program.ends_with(')')) program.remove_suffix(1);
  const bool is_installed =
      program.find('/') == program.npos || program.starts_with("/bin/") || program.starts_with("/usr/bin/");
  const auto name = name_of(program);
  if (is_any_of(name, {"bash", "dash", "sh"}) && words.size() > 2 && words[1].starts_with('-') &&
      words[1].ends_with('c')) {
    for (auto& word : words) {
      while (word.starts_with('\'') || word.starts_with('"')) word.remove_prefix(1);
      while (word.ends_with('\'') || word.ends_with('"')) word.remove_suffix(1);
    }
    return is_idle({words.begin() + 2, words.end()});
  }
  if (name == "exit") return words.size() == 1 || words[1] == "0";
  if (name.starts_with("python") && words.size() > 2 && words[1] == "-m")
    return is_any_of(words[2], {"ast", "compileall", "py_compile", "tokenize"});
  return program.empty() ||
         (is_installed &&
          is_any_of(name, {":",      "RM",   "cat",   "cd",    "chmod", "cp",    "date", "echo",
                           "export", "file", "ls",    "ln",    "mkdir", "mv",    "nm",   "printf",
                           "pwd",    "rm",   "rmdir", "set",   "size",  "sleep", "stat", "strings",
                           "touch",  "true", "type",  "uname", "unset", "wc",    "which"}));
}

}  // namespace

std::string without_comments(std::string_view content) {
  std::string out;
  for (const auto each : TextLines(content)) {
    const auto line = trimmed(each);
    if (!line.starts_with('#') && !line.starts_with("//") && !line.starts_with(';')) out.append(each) += '\n';
  }
  return out;
}

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool sets_variable(std::string_view word) {
  const auto sign = word.find('=');
  return sign != word.npos && sign > 0 && std::ranges::all_of(word.substr(0, sign), is_word);
}

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!(text = trimmed(text)).empty()) {
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

bool is_housekeeping(std::string_view command) {
  for (const std::string_view end : {"|| true", "|| :"})
    if (command.ends_with(end)) command.remove_suffix(end.size());
  if (command.find_first_of(";&|`") != command.npos) return false;
  const auto words = words_of_command(command);
  return words.empty() ||
         is_any_of(name_of(words.front()), {"rm", "RM", "rmdir", "mkdir", "ln", "kill", "pkill", "killall",
                                            "docker", "echo", "printf", "touch", "cp", "mv"});
}

bool runs_nothing(std::string_view script) {
  while (!script.empty()) {
    const auto end = std::min(script.find_first_of(";&|\n"), script.size());
    if (!is_idle(words_in(script.substr(0, end)))) return false;
    script.remove_prefix(std::min(end + 1, script.size()));
  }
  return true;
}

std::vector<std::string> hidden_in(const std::string& script, const RunTargets& targets) {
  if (!targets.hidden_failures || script.size() > kCommandBytesMax) return {};
  auto reasons = targets.hidden_failures({"sh", "-c", script});
  if (always_ends_well(script)) return reasons;
  std::erase_if(reasons, [](const auto& reason) {
    return reason.find("leave it out") == reason.npos && reason.find("a trap") == reason.npos;
  });
  return reasons;
}

std::string weaker(const std::string& before, const std::string& after, const RunTargets& targets) {
  if (before == after) return "";
  if (runs_nothing(after) && !runs_nothing(before)) return "runs no command any more";
  const auto known = hidden_in(before, targets);
  for (const auto& reason : hidden_in(after, targets))
    if (std::ranges::find(known, reason) == known.end())
      return "can pass although a command failed: " + reason;
  return "";
}

}  // namespace pawl::gates
