#include "gates/reading/missing_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gates/policy/python_names.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/fallback.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

struct Ending {
  std::string_view words;
  bool of_file;  // in a line of a shell, the name is a file even without a slash
};

// Texts of dash, busybox and bash, and of programs that call execvp: env, timeout, xargs, and Pawl for an
// argument list.
constexpr std::array<Ending, 6> kEndings = {{{": not found", false},
                                             {": command not found", false},
                                             {": bad interpreter: No such file or directory", false},
                                             {": cannot execute: required file not found", false},
                                             {": No such file or directory", true},
                                             {": Permission denied", true}}};
// Shells. They report a program that is not in PATH in other words than a file that is missing.
constexpr std::array<std::string_view, 3> kShells = {"bash", "sh", "dash"};

std::string_view last_part(std::string_view text, std::string_view separator) {
  const auto at = text.rfind(separator);
  return at == text.npos ? text : text.substr(at + separator.size());
}

// The name without the quotes of GNU programs: 'x', `x', or the quotation marks of UTF-8.
std::string_view unquoted(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kQuotes = {
      {{"\xE2\x80\x98", "\xE2\x80\x99"}, {"'", "'"}, {"`", "'"}}};
  for (const auto& [open, close] : kQuotes)
    if (name.size() > open.size() + close.size() && name.starts_with(open) && name.ends_with(close))
      return name.substr(open.size(), name.size() - open.size() - close.size());
  return name;
}

// Whether a command makes no files, but only sets where and how other commands run.
bool makes_nothing(std::string_view command) {
  constexpr std::array<std::string_view, 8> kWords = {":",      "cd",  "echo",  "export",
                                                      "printf", "set", "shopt", "true"};
  const auto start = std::min(command.find_first_not_of(" \t\r"), command.size());
  command.remove_prefix(start);
  const auto word = command.substr(0, command.find_first_of(" \t\r"));
  const bool assigns = word.size() == command.size() && word.find('=') != word.npos;
  return word.empty() || assigns || std::ranges::find(kWords, word) != kWords.end();
}

std::optional<MissingProgram> in_line(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  for (const auto& ending : kEndings) {
    if (!line.ends_with(ending.words)) continue;
    const auto before = line.substr(0, line.size() - ending.words.size());
    constexpr std::string_view kOurs = "can't run ", kTimeouts = "failed to run command ";
    auto name = last_part(before, ": ");
    for (const auto prefix : {kOurs, kTimeouts})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    name = unquoted(name);
    if (name.empty()) return std::nullopt;
    const bool by_shell = std::ranges::find(kShells, before.substr(0, before.find(':'))) != kShells.end();
    return MissingProgram{.name = std::string(name),
                          .is_path = name.find('/') != name.npos || (ending.of_file && by_shell)};
  }
  return std::nullopt;
}

// Lines that are searched from the end. The lines after the message come from the programs that called it.
constexpr std::size_t kLinesMost = 50;

// Calls `find` for the last lines, from the end, until it finds a result.
template <class Find>
std::optional<MissingProgram> in_last_lines(std::string_view output, std::size_t most, const Find& find) {
  for (std::size_t lines = 0; lines < most && !output.empty(); ++lines) {
    const auto at = output.find_last_of('\n', output.size() - 1);
    const auto line = at == output.npos ? output : output.substr(at + 1);
    if (auto found = find(line)) return found;
    output = at == output.npos ? std::string_view() : output.substr(0, at);
  }
  return std::nullopt;
}

// Whether a line reports exit code 127: "make: *** [Makefile:2: test] Error 127", and texts of `just` and of
// Go programs. A failure that make was told to ignore has "(ignored)" at its end and does not count.
bool says_not_found(std::string_view line) {
  constexpr std::array<std::string_view, 3> kWords = {"] Error 127", "exit code 127", "exit status 127"};
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return std::ranges::any_of(kWords, [&](const auto words) { return line.ends_with(words); });
}

// Whether a command has a word, or words, between spaces, quotes or operators of a shell.
bool has_word(std::string_view command, std::string_view word) {
  constexpr std::string_view kAround = " \t\n;&|()'\"=";
  for (auto at = command.find(word); at != command.npos; at = command.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool begins = at == 0 || kAround.find(command[at - 1]) != kAround.npos;
    if (begins && (end == command.size() || kAround.find(command[end]) != kAround.npos)) return true;
  }
  return false;
}

// "-m tox" for "python3: No module named tox", where the step runs that module. A module of another name may
// be part of the work; the policy does not accept work that adds one of these names.
std::optional<MissingProgram> module_in(std::string_view line, const std::string& command) {
  constexpr std::string_view kWords = ": No module named ";
  const auto at = line.find(kWords);
  if (at == line.npos) return std::nullopt;
  auto name = line.substr(at + kWords.size());
  while (name.ends_with('\r') || name.ends_with(' ')) name.remove_suffix(1);
  const std::string asked = "-m " + std::string(unquoted(name));
  if (!has_word(command, asked) || !is_python_name(asked.substr(3))) return std::nullopt;
  return MissingProgram{.name = "python3 " + asked};
}

// "python3: can't open file '/plan/typo.py': [Errno 2] No such file or directory", and "sh: 0: cannot open
// /plan/typo.sh: No such file" of dash. No work can add a file to /plan.
std::optional<MissingProgram> plan_file_in(std::string_view line) {
  const auto at = line.find("/plan/");
  const bool begins =
      at != line.npos && (at == 0 || std::string_view(" '\"`").find(line[at - 1]) != line.npos);
  if (!begins || line.find("No such file", at) == line.npos) return std::nullopt;
  const auto path = line.substr(at, line.find_first_of(" '\"`:", at) - at);
  return MissingProgram{.name = std::string(path), .is_path = true};
}

// Subcommands of cargo that are programs to install. A name of the project's own, such as xtask, is an alias
// in .cargo/config.toml, which the work may add.
bool is_installed_for_cargo(std::string_view name) {
  constexpr std::array<std::string_view, 20> kNames = {
      "about",    "audit",      "careful",       "clippy",    "criterion", "deny",    "fmt",
      "fuzz",     "geiger",     "hack",          "llvm-cov",  "miri",      "mutants", "nextest",
      "outdated", "public-api", "semver-checks", "tarpaulin", "udeps",     "vet"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// The text between two texts; "" when the line does not have both.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const auto at = line.find(before);
  if (at == line.npos) return "";
  line.remove_prefix(at + before.size());
  const auto end = line.find(after);
  return end == line.npos ? "" : line.substr(0, end);
}

// A program that another one runs for the step: a subcommand of git or cargo, or the program after
// `prove --exec`. The command names both.
std::optional<MissingProgram> callee_in(std::string_view line, const std::string& command) {
  const auto of = [&](std::string_view caller, std::string_view name) -> std::optional<MissingProgram> {
    if (name.empty() || !has_word(command, caller) || !has_word(command, name)) return std::nullopt;
    return MissingProgram{.name = fmt::format("{} {}", caller, name)};
  };
  if (line.starts_with("git: '")) return of("git", between(line, "git: '", "' is not a git command"));
  for (const auto words : {"no such command: `", "no such subcommand: `"})
    if (const auto name = between(line, words, "`"); is_installed_for_cargo(name)) return of("cargo", name);
  const auto program = between(line, "open3: exec of ", " failed: No such file or directory");
  const auto name = program.substr(0, program.find(' '));
  if (name.empty() || !has_word(command, "prove") || !has_word(command, name)) return std::nullopt;
  return MissingProgram{.name = std::string(name), .is_path = name.find('/') != name.npos};
}

// Whether a list of folders for PATH has one whose place its text does not show: "$ROOT/bin", "$(npm bin)".
bool has_unknown_folder(std::string_view list) {
  constexpr std::array<std::string_view, 4> kKnown = {"$PATH", "${PATH}", "$HOME", "${HOME}"};
  for (std::size_t start = 0; start < list.size();) {
    const auto end = std::min(list.find(':', start), list.size());
    const std::string folder(list.substr(start, end - start));
    start = end + 1;
    const bool is_known = std::ranges::any_of(kKnown, [&](const auto known) {
      return folder == known || (folder.starts_with(known) && folder[known.size()] == '/');
    });
    SearchFolders in_workspace;
    in_workspace.add({"PATH=" + folder});
    if (!is_known && folder.find_first_of("$`") != folder.npos && in_workspace.programs.empty()) return true;
  }
  return false;
}

// Whether a command sets PATH to a folder whose place it does not show. A quote ends a word of PATH="...".
bool has_unknown_path(const std::vector<std::string>& argv) {
  for (const auto& text : argv) {
    const auto words = words_of_command(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto sign = words[i].find('=');
      const auto name = words[i].substr(0, sign);
      if (sign == name.npos || (name != "PATH" && name != "PATH+")) continue;
      auto value = words[i].substr(sign + 1);
      if (value.empty() && i + 1 < words.size()) value = words[i + 1];
      if (has_unknown_folder(value)) return true;
    }
  }
  return false;
}

// Whether a command may install a program of the work in a folder of PATH, or set PATH: "pip install -e .",
// "make install", ". ./env.sh". A package manager of the system does not install the work.
bool may_install(std::string_view command) {
  const auto words = words_of_command(command);
  if (words.empty() || makes_nothing(command)) return false;
  constexpr std::array<std::string_view, 3> kReaders = {".", "source", "eval"};
  constexpr std::array<std::string_view, 7> kOfSystem = {"apk", "apt",    "apt-get", "brew",
                                                         "dnf", "pacman", "yum"};
  constexpr std::array<std::string_view, 6> kOfFolder = {"bun", "bundle", "composer", "npm", "pnpm", "yarn"};
  constexpr std::array<std::string_view, 4> kGlobal = {"-g", "--global", "global", "link"};
  const auto is_in = [](const auto& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
  };
  const auto has = [&](const auto& is_wanted) { return std::ranges::any_of(words, is_wanted); };
  if (is_in(kReaders, words.front())) return true;
  if (has([&](auto word) { return is_in(kOfSystem, name_of(word)); })) return false;
  if (is_in(kOfFolder, name_of(words.front()))) return has([&](auto word) { return is_in(kGlobal, word); });
  return has([](auto word) {
    return name_of(word).starts_with("install") || word == "--install" || word == "develop";
  });
}

// The text of the command before its last mention of the program; nullopt when it does not name the program.
std::optional<std::string_view> text_before(const MissingProgram& program,
                                            const std::vector<std::string>& argv) {
  const auto names_it = [&](const auto& word) { return word.find(program.name) != word.npos; };
  const auto words = std::find_if(argv.rbegin(), argv.rend(), names_it);
  if (program.name.empty() || words == argv.rend()) return std::nullopt;
  return std::string_view(*words).substr(0, words->rfind(program.name));
}

// Whether `is_wanted` holds for a command that ends in `text`. The rest of the text begins another one.
template <class IsWanted>
bool any_command(std::string_view text, const IsWanted& is_wanted) {
  for (;;) {
    const auto end = text.find_first_of("\n;&|(){}`");
    if (end == text.npos) return false;
    if (is_wanted(text.substr(0, end))) return true;
    text.remove_prefix(end + 1);
  }
}

// Whether a command has a fallback, or a PATH in which the work may add a program.
bool may_do_without(const std::vector<std::string>& argv) {
  SearchFolders folders;
  folders.add(argv);
  return !folders.programs.empty() || has_unknown_path(argv) || has_fallback(argv.back());
}

// The first word of a command that is not an assignment.
std::string_view first_word_of(std::string_view command) {
  for (const auto word : words_of_command(command))
    if (word.find('=') == word.npos) return word;
  return "";
}

// "tox" for "sh: 1: tox: not found" and "tox -q || exit 1": the script ends by it, with a code of its own.
std::optional<MissingProgram> ended_by(std::string_view line, std::string_view script) {
  const auto found = in_line(line);
  const auto by = line.substr(0, line.find(':'));
  if (!found || std::ranges::find(kShells, by) == kShells.end()) return std::nullopt;
  const auto starts_it = [&](const auto command) { return first_word_of(command) == found->name; };
  return std::ranges::any_of(commands_it_ends_by(script), starts_it) ? found : std::nullopt;
}

}  // namespace

bool is_run_first(const MissingProgram& program, const std::vector<std::string>& argv) {
  const auto before = text_before(program, argv);
  return before && !any_command(*before, [](std::string_view command) { return !makes_nothing(command); });
}

WaysToBring ways_to_bring(const MissingProgram& program, const std::vector<std::string>& argv) {
  WaysToBring out;
  SearchFolders folders;
  folders.add(argv);
  const bool is_one_name = program.name.find_first_of(" /") == std::string::npos && !program.name.empty();
  for (const auto& folder : folders.programs)
    if (is_one_name) out.paths.push_back(folder.empty() ? program.name : folder + "/" + program.name);
  const auto before = text_before(program, argv);
  out.by_command = has_unknown_path(argv);
  if (before) out.by_command = out.by_command || any_command(*before, may_install);
  for (const auto& text : argv)  // another program of the command looked for it
    if (!before) out.by_command = out.by_command || any_command(text + "\n", may_install);
  return out;
}

MissingProgram missing_program(const std::vector<std::string>& argv, std::string_view output) {
  if (auto found = in_last_lines(output, kLinesMost, in_line)) return *std::move(found);
  const bool by_shell = argv.empty() || std::ranges::find(kShells, argv.front()) != kShells.end();
  if (by_shell) return {};
  return {.name = argv.front(), .is_path = argv.front().find('/') != std::string::npos};
}

std::optional<MissingProgram> missing_behind(const std::vector<std::string>& argv, std::string_view output) {
  constexpr std::size_t kLastLines = 5;  // earlier lines may have other causes than the end
  std::string command;
  for (const auto& word : argv) command += (command.empty() ? "" : " ") + word;
  constexpr std::size_t kHelpLines = 10;  // the message of cargo or git, with its help and empty lines
  if (auto found = in_last_lines(output, kLastLines, plan_file_in)) return found;
  const auto callee = [&](std::string_view line) { return callee_in(line, command); };
  if (!argv.empty() && !may_do_without(argv))
    if (auto found = in_last_lines(output, kHelpLines, callee)) return found;
  if (auto found =
          in_last_lines(output, kLinesMost, [&](std::string_view line) { return module_in(line, command); }))
    return found;
  if (!argv.empty())
    if (auto found = in_last_lines(output, kLinesMost,
                                   [&](std::string_view line) { return ended_by(line, argv.back()); }))
      return found;
  const auto by_make = in_last_lines(output, kLinesMost, [](std::string_view line) {
    return says_not_found(line) ? std::optional(MissingProgram()) : std::nullopt;
  });
  if (!by_make) return std::nullopt;
  // make also reports 127 for a file that exists but cannot be executed. The work may build that file.
  return in_last_lines(output, kLinesMost, [](std::string_view line) {
    return line.find(": Permission denied") == line.npos ? in_line(line) : std::nullopt;
  });
}

}  // namespace pawl::gates
