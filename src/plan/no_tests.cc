#include "plan/no_tests.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include "plan/script.h"
#include "plan/script_facts.h"
#include "plan/script_tree.h"
#include "plan/script_words.h"

namespace pawl::plan {
namespace {

using Kind = ScriptNode::Kind;

struct Listing {
  std::string_view program, command;  // "go" and "test"; "": the program alone
  std::string_view option, value;     // "": the option takes none, or any
};

// Each has the runner exit with 0 and run no test. From the manual of each program.
constexpr std::array kListings = {
    Listing{"pytest", "", "--collect-only", ""},
    Listing{"pytest", "", "--co", ""},
    Listing{"pytest", "", "--setup-only", ""},
    Listing{"pytest", "", "--setup-plan", ""},
    Listing{"pytest", "", "--fixtures", ""},
    Listing{"go", "test", "-list", ""},
    Listing{"go", "test", "-run", "NONE"},
    Listing{"go", "test", "-run", "^$"},
    Listing{"go", "test", "-c", ""},
    Listing{"cargo", "test", "--list", ""},
    Listing{"prove", "", "--dry", ""},
    Listing{"prove", "", "-D", ""},
    Listing{"jest", "", "--listTests", ""},
    Listing{"rspec", "", "--dry-run", ""},
    Listing{"mocha", "", "--dry-run", ""},
};

bool has_option(std::span<const std::string> words, const Listing& of) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with(of.option)) continue;
    const auto rest = word.substr(of.option.size());
    if (of.value.empty() && (rest.empty() || rest.starts_with('='))) return true;
    if (!of.value.empty() && rest.empty() && i + 1 < words.size() && words[i + 1] == of.value) return true;
    if (!of.value.empty() && rest.starts_with('=') && rest.substr(1) == of.value) return true;
  }
  return false;
}

// The words from the runner on; none where the command is of no such runner. `python3 -m pytest` is pytest.
std::span<const std::string> runner_in(const PlainWords& command, const Listing& of) {
  constexpr std::size_t kProgramWithin = 6;  // enough for "timeout 60 uv run pytest"
  if (command[0] == "echo" || command[0] == "printf") return {};
  for (std::size_t i = 0; i < std::min(command.size(), kProgramWithin); ++i) {
    if (program_of(command[i]) != of.program) continue;
    const auto words = std::span(command).subspan(i);
    const bool is_it = of.command.empty() || std::ranges::find(words, of.command) != words.end();
    if (is_it) return words;
  }
  return {};
}

bool is_exit(const ScriptNode& node) {
  const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
  return !command.empty() && command[0] == "exit" && (command.size() == 1 || command[1] == "0");
}

// `[ -d tests ] && make test`
bool is_behind_a_question(const ScriptNode& node, const ScriptFacts& facts) {
  return node.kind == Kind::kAndOr && node.children.size() > 1 && node.marks[1] == '&' &&
         facts.asks(node.children[0]) && !facts.only_says(node.children.back());
}

void add_unreached(const ScriptTree& tree, std::vector<std::string>& to) {
  const ScriptFacts facts(tree);
  if (tree.root.kind != Kind::kList) return;
  const auto& parts = tree.root.children;
  const auto exit = std::ranges::find_if(parts, is_exit);
  const auto is_work = [&](const ScriptNode& part) {
    return part.kind != Kind::kFunction && !is_exit(part) && !facts.only_says(part);
  };
  if (exit != parts.end() && std::any_of(exit + 1, parts.end(), is_work))
    to.push_back("`exit 0` ends the script before its other commands; leave it out");
  const auto asked =
      std::ranges::count_if(parts, [&](const auto& part) { return is_behind_a_question(part, facts); });
  const auto others = std::ranges::count_if(
      parts, [&](const auto& part) { return is_work(part) && !is_behind_a_question(part, facts); });
  const bool ends_so = !parts.empty() && is_behind_a_question(parts.back(), facts);
  if (asked > 0 && others == 0 && !ends_so)
    to.push_back(
        "each command stands behind a question (`[ -d x ] && y`), and the script passes where the "
        "answer is no; let one command run in any case");
}

// Programs that run tests, and those that do when a word after them says so: `go test`, `make check`.
constexpr std::array<std::string_view, 17> kRunners = {
    "ava",    "bats",  "ctest", "jest", "mocha", "nose2",  "nox",      "phpunit", "prove",
    "pytest", "rspec", "tap",   "tape", "tox",   "vitest", "unittest", "py.test"};
constexpr std::array<std::string_view, 17> kCallers = {"bazel", "bun",  "cargo", "dotnet", "go",  "gradle",
                                                       "just",  "make", "meson", "mix",    "mvn", "ninja",
                                                       "node",  "npm",  "pnpm",  "rake",   "yarn"};
constexpr std::array<std::string_view, 4> kCompilers = {"cargo", "npm", "pnpm",
                                                        "yarn"};  // `check` is not a test
constexpr std::size_t kProgramWithin = 6;  // words; enough for "timeout 60 uv run python3 -m pytest"

bool is_command_of_tests(const PlainWords& command) {
  const auto is_one_of = [](const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  // Programs for which the name of a runner is a word like others.
  constexpr std::array<std::string_view, 14> kOthers = {"add",    "apt-get", "command", "cp",    "echo",
                                                        "export", "install", "ls",      "mkdir", "pip",
                                                        "pip3",   "printf",  "rm",      "which"};
  for (std::size_t i = 0; i < std::min(command.size(), kProgramWithin); ++i) {
    const auto program = program_of(command[i]);
    if (is_one_of(kOthers, program)) return false;
    if (is_one_of(kRunners, program)) return true;
    if (!is_one_of(kCallers, program)) continue;
    const std::span rest(command.begin() + static_cast<std::ptrdiff_t>(i) + 1, command.end());
    const bool has_checks = !is_one_of(kCompilers, program);
    return std::ranges::any_of(rest, [&](std::string_view word) {
      return word == "test" || word.starts_with("test:") || word == "--test" ||
             (word == "check" && has_checks);
    });
  }
  return false;
}

// `make test` without -k.
bool is_make_that_ends(const PlainWords& command) {
  const auto is_make = [](std::string_view word) {
    return program_of(word) == "make" || program_of(word) == "gmake";
  };
  const auto goes_on = [](std::string_view word) {
    return word == "--keep-going" ||
           (word.starts_with('-') && !word.starts_with("--") && word.ends_with('k'));
  };
  const auto make = std::ranges::find_if(command, is_make);
  return make != command.end() && is_command_of_tests(command) && std::none_of(make, command.end(), goes_on);
}

bool has_tests(const ScriptNode& node) {
  if (node.kind != Kind::kSimple) return std::ranges::any_of(node.children, has_tests);
  return is_command_of_tests(command_words(node.words));
}

// Whether a failure in the command ends a script under `-e`.
bool ends_at_a_failure(const ScriptNode& node) {
  return node.kind == Kind::kSimple || node.kind == Kind::kPipeline || node.kind == Kind::kFor ||
         node.kind == Kind::kWhile;
}

// `set +e`, `set +o errexit`; not `set +x`.
bool goes_on_after_failures(const ScriptNode& node) {
  const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
  return command.size() > 1 && command[0] == "set" && command[1].starts_with('+') &&
         (command[1].find('e') != std::string::npos || command.back() == "errexit");
}

// The commands that run one after another, as long as none fails. A pipeline is one.
void add_commands(const ScriptNode& node, std::vector<const ScriptNode*>& to) {
  const bool is_chain = node.kind == Kind::kAndOr && node.marks.find('|') == std::string::npos;
  if (is_chain || node.kind == Kind::kList || node.kind == Kind::kGroup || node.kind == Kind::kSubshell) {
    for (const auto& child : node.children) add_commands(child, to);
  } else {
    to.push_back(&node);
  }
}

std::string program_in(const ScriptNode& node) {
  if (node.kind == Kind::kPipeline && !node.children.empty()) return program_in(node.children.front());
  const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
  return command.empty() ? "other commands" : "`" + command[0] + "`";
}

// A command that only cleans up, reports or goes elsewhere: no result is lost when it does not run.
bool keeps_house(const ScriptNode& node) {
  constexpr std::array<std::string_view, 15> kKeepers = {"cat",  "cd",   "chmod",  "coverage", "cp",
                                                         "date", "exit", "export", "ls",       "mkdir",
                                                         "mv",   "popd", "rm",     "tee",      "touch"};
  if (node.kind == Kind::kPipeline) return std::ranges::all_of(node.children, keeps_house);
  const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
  return !command.empty() && std::ranges::find(kKeepers, program_of(command[0])) != kKeepers.end();
}

// `set -e`, `set -eux`, `set -o errexit` among the commands of a script.
bool stops_at_failures(const ScriptNode& root) {
  return std::ranges::any_of(root.children, [](const ScriptNode& node) {
    const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
    return command.size() > 1 && command[0] == "set" && command[1].starts_with('-') &&
           (command[1].find('e') != std::string::npos || command.back() == "errexit");
  });
}

// `|| exit 1`, `|| { cat log; exit 1; }`
bool ends_the_script(const ScriptNode& node) {
  if (node.kind == Kind::kGroup || node.kind == Kind::kList)
    return !node.children.empty() && ends_the_script(node.children.back());
  const auto command = node.kind == Kind::kSimple ? command_words(node.words) : PlainWords();
  return !command.empty() && (command[0] == "exit" || command[0] == "return");
}

// Whether a test that fails in the node keeps what comes after the node from running.
bool ends_behind_tests(const ScriptNode& node, bool errexit) {
  const bool has_way_out = node.kind == Kind::kAndOr && node.marks.find('|') != std::string::npos;
  if (has_way_out) return ends_the_script(node.children.back()) && has_tests(node);
  if (node.kind == Kind::kSimple || node.kind == Kind::kPipeline || node.kind == Kind::kAndOr)
    return errexit && !node.negated && has_tests(node);
  if (node.kind == Kind::kIf || node.kind == Kind::kCase || node.kind == Kind::kFunction) return false;
  return std::ranges::any_of(node.children,
                             [&](const auto& child) { return ends_behind_tests(child, errexit); });
}

// As hides_tests() of script.h.
bool has_hidden_tests(const ScriptNode& node, bool errexit) {
  const bool is_chain = node.kind == Kind::kAndOr, in_order = is_chain || node.kind == Kind::kList;
  if (node.kind == Kind::kList && std::ranges::any_of(node.children, goes_on_after_failures)) errexit = false;
  bool ended = false;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const auto& child = node.children[i];
    if (is_chain && node.marks[i] == '|') ended = false;
    if ((ended && has_tests(child)) || has_hidden_tests(child, errexit)) return true;
    ended = in_order && (ended || (is_chain ? has_tests(child) : ends_behind_tests(child, errexit)));
  }
  const bool is_loop = node.kind == Kind::kFor || node.kind == Kind::kWhile;
  return is_loop && !node.children.empty() && ends_behind_tests(node.children.back(), errexit);
}

}  // namespace

std::vector<std::string> runners_that_only_list(const std::vector<std::vector<std::string>>& steps) {
  std::vector<PlainWords> commands;
  for (const auto& argv : steps) std::ranges::move(commands_of(argv), std::back_inserter(commands));
  std::vector<std::string> out;
  std::map<std::string_view, std::string> listed;  // by runner
  std::map<std::string_view, int> runs;
  for (const auto& command : commands) {
    std::string_view runner;
    bool lists = false;
    for (const auto& of : kListings) {
      const auto words = runner_in(command, of);
      if (words.empty()) continue;
      runner = of.program;
      if (!has_option(words, of)) continue;
      lists = true;
      listed[runner] = std::string(of.program) + (of.command.empty() ? "" : " ") + std::string(of.command) +
                       " " + std::string(of.option) + (of.value.empty() ? "" : " ") + std::string(of.value);
    }
    if (!runner.empty() && !lists) ++runs[runner];
  }
  for (const auto& [runner, words] : listed)
    if (runs[runner] == 0) out.push_back("`" + words + "` runs no test; leave it out");
  return out;
}

std::vector<std::string> reasons_to_run_nothing(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  auto script = script_of(argv);
  if (const auto shell = nested_shell(argv); !script && shell) script = shell->script;
  if (!script) return out;
  const auto tree = read_script(*script);
  if (!tree.too_deep) add_unreached(tree, out);
  return out;
}

std::string why_a_failure_hides_others(const std::vector<std::string>& argv) {
  if (std::ranges::any_of(commands_of(argv), is_make_that_ends))
    return "make ends at the first target that fails, before the others; run `make -k`";
  return why_not_all_runs(argv);
}

std::string why_not_all_runs(const std::vector<std::string>& argv) {
  const auto script = script_of(argv);
  if (!script) return "";
  const auto tree = read_script(*script);
  const ScriptFacts facts(tree);
  std::vector<const ScriptNode*> commands;
  add_commands(tree.root, commands);
  if (std::ranges::any_of(commands, [](const auto* node) { return goes_on_after_failures(*node); }))
    return "";
  const auto tests = std::ranges::find_if(
      commands, [](const auto* node) { return ends_at_a_failure(*node) && has_tests(*node); });
  if (tests == commands.end()) return "";
  if ((*tests)->kind == Kind::kFor || (*tests)->kind == Kind::kWhile)
    return "a test that fails ends the loop before its other turns; give each turn a step of its own";
  const auto behind = std::find_if(tests + 1, commands.end(), [&](const auto* node) {
    return !facts.only_says(*node) && !keeps_house(*node);
  });
  if (behind == commands.end()) return "";
  return program_in(**behind) +
         " behind the tests does not run when one of them fails; give it a step of its own";
}

bool hides_tests(const std::vector<std::string>& argv) {
  auto script = script_of(argv);
  bool errexit = script.has_value();
  if (const auto shell = nested_shell(argv); !script && shell) {
    script = shell->script;
    errexit = shell->errexit;
  }
  if (!script) return false;
  const auto tree = read_script(*script);
  return !tree.too_deep && has_hidden_tests(tree.root, errexit || stops_at_failures(tree.root));
}

bool runs_tests(std::string_view script) { return has_tests(read_script(script).root); }

}  // namespace pawl::plan
