// Finds the programs and commands that a command starts in any case.
#include <algorithm>
#include <array>

#include "plan/script.h"
#include "plan/script_facts.h"
#include "plan/script_words.h"

namespace pawl::plan {
namespace {

using Kind = ScriptNode::Kind;

constexpr int kNestedShellsMax = 5;

// Names that mean no program: builtins of POSIX.1-2017, XCU 2.14, and of bash.
constexpr std::array<std::string_view, 62> kOfShells = {
    ".",       "..",     ":",      "[",       "[[",      "alias",     "bg",       "bind",   "break",
    "builtin", "caller", "cd",     "command", "compgen", "continue",  "declare",  "dirs",   "disown",
    "echo",    "enable", "eval",   "exec",    "exit",    "export",    "false",    "fc",     "fg",
    "getopts", "hash",   "help",   "history", "jobs",    "kill",      "let",      "local",  "mapfile",
    "popd",    "printf", "pushd",  "pwd",     "read",    "readarray", "readonly", "return", "set",
    "shift",   "shopt",  "source", "suspend", "test",    "times",     "trap",     "true",   "type",
    "typeset", "ulimit", "umask",  "unset",   "unalias", "wait",      "coproc",   "logout"};

bool is_of_shell(std::string_view name) {
  return std::ranges::find(kOfShells, name) != kOfShells.end() || name.starts_with("((");
}

// Whether a word is the same before and after a shell expands it.
bool is_literal(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+@").find(c) != std::string_view::npos;
  });
}

// Whether names may mean other programs from here on: the script sets PATH, or runs code that it does not show.
bool changes_names(const ScriptNode& node) {
  const auto in = [](const std::vector<ScriptWord>& words) {
    return std::ranges::any_of(
        words, [](const ScriptWord& word) { return std::ranges::any_of(word.commands, changes_names); });
  };
  if (node.kind == Kind::kSimple) {
    const auto command = command_words(node.words);
    const bool runs_code =
        !command.empty() && (command[0] == "." || command[0] == "source" || command[0] == "eval");
    const bool sets_path = std::ranges::any_of(
        node.words, [](const ScriptWord& word) { return plain(word.text).starts_with("PATH="); });
    if (runs_code || sets_path) return true;
  }
  return in(node.words) || std::ranges::any_of(node.children, changes_names);
}

class Commands {
 public:
  // `named`: none after a change of what names mean.
  explicit Commands(bool named) : named_(named) {}

  void add_command(const std::vector<std::string>& argv) {
    if (const auto script = script_of(argv)) return add_script(*script);
    std::vector<ScriptWord> words;
    for (const auto& word : argv) words.push_back({.text = word, .commands = {}, .processes = {}});
    add_words(command_words(words));
  }

  std::vector<PlainWords> found;

 private:
  void add_script(const std::string& text) {
    const auto tree = read_script(text);
    if (tree.too_deep || (named_ && changes_names(tree.root))) return;
    const ScriptFacts facts(tree);
    walk(tree.root, facts);
  }

  void add_words(const PlainWords& command) {
    if (command.empty() || !is_literal(command[0]) || is_of_shell(command[0])) return;
    found.push_back(command);
    const auto shell = nested_shell(command);
    if (!shell || !shell->script || shell->name != command[0] || depth_ >= kNestedShellsMax) return;
    ++depth_;
    add_script(*shell->script);
    --depth_;
  }

  // False: the shell ends here.
  bool walk(const ScriptNode& node, const ScriptFacts& facts) {
    switch (node.kind) {
      case Kind::kSimple:
        return walk_simple(node, facts);
      case Kind::kPipeline:
        for (const auto& part : node.children) walk(part, facts);
        return true;
      case Kind::kAndOr:
        walk_operands(node, facts);
        return true;
      case Kind::kList:
        return std::ranges::all_of(node.children, [&](const auto& child) { return walk(child, facts); });
      case Kind::kGroup:
        return node.children.empty() || walk(node.children.front(), facts);
      case Kind::kSubshell:
      case Kind::kIf:
      case Kind::kWhile:
      case Kind::kUntil:  // the list, or the condition, which runs in any case
        if (!node.children.empty()) walk(node.children.front(), facts);
        return true;
      case Kind::kFor:
      case Kind::kCase:
      case Kind::kFunction:
        break;
    }
    return true;
  }

  bool walk_simple(const ScriptNode& node, const ScriptFacts& facts) {
    for (const auto& word : node.words)
      for (const auto& command : word.commands) walk(command, facts);
    const auto command = command_words(node.words);
    if (facts.called(command) == nullptr) add_words(command);
    return command.empty() || (command[0] != "exit" && command[0] != "return");
  }

  // In `a && b || c`, b runs when a succeeds, as it should. After a question (`[ -x b ] && b`) it may never
  // run, and neither may c.
  void walk_operands(const ScriptNode& node, const ScriptFacts& facts) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (node.marks[i] == '|') return;
      walk(node.children[i], facts);
      if (facts.asks(node.children[i])) return;
    }
  }

  const bool named_;
  int depth_ = 0;
};

// Builtins that make no file and start no program.
bool only_prepares(const ScriptNode& node) {
  if (node.kind == Kind::kAndOr || node.kind == Kind::kList)
    return std::ranges::all_of(node.children, only_prepares);
  if (node.kind != Kind::kSimple || !node.targets.empty()) return false;
  const auto command = command_words(node.words);
  return command.empty() || command[0] == "set" || command[0] == "cd" || command[0] == "export";
}

// The simple command that runs first; null: a condition or a loop decides.
const ScriptNode* first_command(const ScriptNode& node) {
  switch (node.kind) {
    case Kind::kSimple:
      return &node;
    case Kind::kPipeline:
    case Kind::kGroup:
    case Kind::kSubshell:
      return node.children.empty() ? nullptr : first_command(node.children.front());
    case Kind::kList:
    case Kind::kAndOr:
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i > 0 && node.marks[i] == '|') return nullptr;
        if (!only_prepares(node.children[i])) return first_command(node.children[i]);
      }
      return nullptr;
    case Kind::kIf:
    case Kind::kWhile:
    case Kind::kUntil:
    case Kind::kFor:
    case Kind::kCase:
    case Kind::kFunction:
      break;
  }
  return nullptr;
}

}  // namespace

std::string first_program_of(const std::vector<std::string>& argv) {
  const auto all = programs_of(argv);
  const auto script = script_of(argv);
  if (!script) return all.empty() ? "" : all.front();
  const auto tree = read_script(*script);
  const auto* command = first_command(tree.root);
  if (command == nullptr ||
      std::ranges::any_of(command->words, [](const auto& word) { return !word.commands.empty(); }))
    return "";
  const auto words = command_words(command->words);
  return words.empty() || std::ranges::find(all, words[0]) == all.end() ? "" : words[0];
}

std::vector<std::string> programs_of(const std::vector<std::string>& argv) {
  Commands commands(true);
  commands.add_command(argv);
  std::vector<std::string> out;
  for (auto& command : commands.found)
    if (std::ranges::find(out, command[0]) == out.end()) out.push_back(std::move(command[0]));
  return out;
}

std::vector<PlainWords> commands_of(const std::vector<std::string>& argv) {
  Commands commands(false);
  commands.add_command(argv);
  return std::move(commands.found);
}

}  // namespace pawl::plan
