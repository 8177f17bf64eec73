#include "gates/policy/script_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "gates/policy/given_paths.h"
#include "gates/policy/runner_options.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/policy/steering.h"
#include "gates/policy/variable_files.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using ProgramWords = std::vector<std::string_view>;

// Programs that run tests, or that run the tests of other build files.
constexpr auto kTestRunners = std::to_array<std::string_view>({"MAKE",
                                                               "ant",
                                                               "ava",
                                                               "bazel",
                                                               "borp",
                                                               "buster",
                                                               "cmake",
                                                               "codeceptjs",
                                                               "cucumber",
                                                               "cucumber-js",
                                                               "ctest",
                                                               "cypress",
                                                               "gmake",
                                                               "gradle",
                                                               "grunt",
                                                               "gulp",
                                                               "hereby",
                                                               "jasmine",
                                                               "jest",
                                                               "just",
                                                               "karma",
                                                               "lab",
                                                               "lerna",
                                                               "make",
                                                               "meson",
                                                               "mocha",
                                                               "mvn",
                                                               "ng",
                                                               "nightwatch",
                                                               "ninja",
                                                               "nose2",
                                                               "nox",
                                                               "nx",
                                                               "phpunit",
                                                               "playwright",
                                                               "prove",
                                                               "pytest",
                                                               "py.test",
                                                               "qunit",
                                                               "rake",
                                                               "react-scripts",
                                                               "rspec",
                                                               "rush",
                                                               "start-server-and-test",
                                                               "stest",
                                                               "tap",
                                                               "tape",
                                                               "task",
                                                               "teenytest",
                                                               "testcafe",
                                                               "tox",
                                                               "tst",
                                                               "tsd",
                                                               "turbo",
                                                               "uvu",
                                                               "vitest",
                                                               "vows",
                                                               "vue-cli-service",
                                                               "web-test-runner",
                                                               "wtr",
                                                               "xvfb-maybe",
                                                               "zora",
                                                               "zuul"});
// Linters, formatters and compilers.
constexpr auto kLinters = std::to_array<std::string_view>(
    {"attw",      "babel",        "biome",         "commitlint", "coffee",       "cspell",      "depcheck",
     "dprint",    "dtslint",      "esbuild",       "eslint",     "flow",         "jscs",        "jshint",
     "jsonlint",  "knip",         "lockfile-lint", "madge",      "markdownlint", "microbundle", "ncc",
     "oxlint",    "prettier",     "publint",       "rollup",     "semistandard", "snazzy",      "standard",
     "stylelint", "svelte-check", "swc",           "tsc",        "tslint",       "tsup",        "tsdown",
     "unbuild",   "vue-tsc",      "webpack",       "xo"});
constexpr auto kInterpreters = std::to_array<std::string_view>(
    {".",       "ash",  "babel-node", "bash",   "bun",      "dash",    "deno",   "electron",
     "esr",     "ksh",  "node",       "nodejs", "perl",     "php",     "python", "python2",
     "python3", "ruby", "sh",         "source", "swc-node", "ts-node", "tsx",    "zsh"});
// Programs that run the rest of their words.
constexpr auto kWrappers = std::to_array<std::string_view>(
    {"!",    "bunx", "c8",     "command", "cross-env", "cross-env-shell", "do",    "dotenv", "elif",
     "else", "env",  "exec",   "if",      "then",      "until",           "while", "nice",   "nohup",
     "npx",  "nyc",  "stdbuf", "time",    "timeout",   "unbuffer",        "xargs", "ionice", "xvfb-run"});
// Programs that run the words after their `run` or `exec`.
constexpr auto kEnvironments =
    std::to_array<std::string_view>({"bundle", "hatch", "pdm", "pipenv", "poetry", "rye", "uv"});
// Options of interpreters, and of `coverage run`, whose value is the next word.
constexpr auto kValueOptions = std::to_array<std::string_view>(
    {"--concurrency", "--context", "--data-file", "--experimental-loader", "--import", "--include",
     "--loader", "--omit", "--rcfile", "--require", "--source", "-I", "-W", "-X", "-r"});
constexpr auto kManagers = std::to_array<std::string_view>({"npm", "pnpm", "yarn"});
// Programs that handle files, and have no part in a test's result.
constexpr auto kHelpers = std::to_array<std::string_view>(
    {"copyfiles", "cpx", "cpy", "cpy-cli", "del", "del-cli", "mkdirp", "ncp", "rimraf", "shx"});
// Folders that a build makes.
constexpr auto kBuilt =
    std::to_array<std::string_view>({".cache", ".nyc_output", "build", "cjs", "coverage", "dist", "es", "esm",
                                     "lib-cov", "out", "tmp", "types"});

template <typename List>
bool is_among_names(const List& list, std::string_view one) {
  return std::ranges::find(list, one) != list.end();
}

bool is_below_modules(std::string_view path) { return path.find("node_modules/") != path.npos; }

bool is_own_path(std::string_view path) {
  return path.find('/') != path.npos && !path.starts_with("/usr/") && !path.starts_with("/bin/") &&
         !is_below_modules(path);
}

// The interpreter of a virtual environment that a step makes. A file of the work there is shadowing.
bool is_venv_python(std::string_view path) {
  const auto folder = path.substr(0, path.size() - std::min(name_of(path).size(), path.size()));
  return name_of(path).starts_with("python") &&
         is_any_of(folder, {".venv/bin/", "./.venv/bin/", "venv/bin/", "./venv/bin/"});
}

std::string own_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  for (const std::string_view end : {"/index.js", "/"})
    if (path.ends_with(end)) path.remove_suffix(end.size());
  return std::string(path);
}

enum class ProgramKind { kIdle, kTool, kOther, kRunner, kOwn };
struct Program {
  ProgramKind kind = ProgramKind::kIdle;
  std::string name;  // for kOwn its path
};

Program program_of(ProgramWords words, int depth = 0);

// A program that an interpreter runs.
Program interpreted(const ProgramWords& words, int depth) {
  const auto interpreter = program_name(words[0]);
  const auto has_word = [&](std::string_view one) { return is_among_names(words, one); };
  if (has_word("--test") || (is_any_of(interpreter, {"bun", "deno"}) && has_word("test")))
    return {ProgramKind::kRunner, std::string(interpreter) + " --test"};
  const bool is_shell = interpreter.ends_with("sh");
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto word = words[i];
    if (is_any_of(word, {"--check", "-v"}) || (word == "-c" && interpreter == "node"))
      return {ProgramKind::kIdle, std::string(interpreter)};
    if (word == "-m" && i + 1 < words.size() && interpreter.starts_with("python")) {
      const bool runs = is_any_of(words[i + 1], {"nose2", "nox", "pytest", "tox", "unittest"});
      return {runs ? ProgramKind::kRunner : ProgramKind::kOther, std::string(words[i + 1])};
    }
    if (is_shell && word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
      return program_of({words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()}, depth + 1);
    if (is_any_of(word, {"-e", "-p", "-pe", "-c", "--eval", "--print"}))
      return {ProgramKind::kOwn, fmt::format("{} {}", interpreter, word)};
    if (is_among_names(kValueOptions, word)) ++i;
    if (word.starts_with('-') || is_any_of(word, {"run", "watch"})) continue;
    if (is_below_modules(word)) return program_of({word}, depth + 1);
    return {ProgramKind::kOwn, own_path(word)};
  }
  return {ProgramKind::kOwn, std::string(interpreter)};  // it reads its program from a pipe
}

// A command of npm and its kind. Scripts of the same package.json are followed elsewhere.
Program managed(const ProgramWords& words, int depth) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_any_of(words[i], {"dlx", "exec", "x"})) {
      ProgramWords rest(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      std::erase(rest, "--");
      return program_of(std::move(rest), depth + 1);
    }
    if (is_any_of(words[i], {"-C", "-r", "-w", "-ws", "--cwd", "--dir", "--filter", "--prefix", "--recursive",
                             "--workspace", "--workspaces", "workspace", "workspaces"}))
      return {ProgramKind::kRunner, std::string(words[0])};
  }
  return {ProgramKind::kOther, std::string(words[0])};
}

// Whether an option stands before the first word that names a runner or an interpreter.
bool is_any_of_first(const ProgramWords& words, std::initializer_list<std::string_view> options) {
  const auto end = std::ranges::find_if(words, [](auto word) {
    return is_among_names(kTestRunners, program_name(word)) ||
           is_among_names(kInterpreters, program_name(word));
  });
  return std::any_of(words.begin(), end, [&](auto word) { return is_any_of(word, options); });
}

// Whether an option has a program only print about itself or its work.
bool is_asked_for_nothing(const ProgramWords& words) {
  ProgramWords names;
  for (const auto word : words) {
    if (!option_in(idle_options(), word, "", names).empty()) return true;
    if (!word.starts_with('-')) names.push_back(program_name(word));
  }
  return false;
}

Program program_of(ProgramWords words, int depth) {
  constexpr int kDepthMax = 8;
  bool is_wrapped = false;
  while (!words.empty()) {
    const bool is_environment =
        words.size() > 1 && is_among_names(kEnvironments, words[0]) && is_any_of(words[1], {"exec", "run"});
    if (is_environment) words.erase(words.begin());
    // With -r xargs starts no program for an empty list.
    if (program_name(words[0]) == "xargs" && is_any_of_first(words, {"-r", "--no-run-if-empty"}))
      return {ProgramKind::kOther, "xargs -r"};
    const bool wraps = is_environment || is_among_names(kWrappers, program_name(words[0]));
    if (!sets_variable(words[0]) && !wraps && !(is_wrapped && words[0].starts_with('-'))) break;
    is_wrapped = is_wrapped || wraps;
    words.erase(words.begin());
  }
  if (words.empty() || depth > kDepthMax) return {};
  if (is_wrapped) {  // the value of a wrapper's option is not a program
    const auto known = std::ranges::find_if(words, [](auto word) {
      const auto name = program_name(word);
      return is_among_names(kTestRunners, name) || is_among_names(kInterpreters, name) ||
             name == "coverage" || is_venv_python(word) || is_among_names(kManagers, name) ||
             is_among_names(kLinters, name);
    });
    if (known != words.end() && (!is_own_path(*known) || is_venv_python(*known)))
      words.erase(words.begin(), known);
  }
  const auto path = words[0], name = program_name(path);
  std::string text;
  for (const auto word : words) text += std::string(word) + " ";
  if (runs_nothing(text) || is_asked_for_nothing(words)) return {ProgramKind::kIdle, std::string(name)};
  if (is_own_path(path) && !is_venv_python(path)) return {ProgramKind::kOwn, own_path(path)};
  if (name == "coverage" && words.size() > 1 && words[1] == "run") {
    words.erase(words.begin());
    words[0] = "python3";
    return interpreted(words, depth);
  }
  const bool is_python = name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == name.npos;
  if (is_python || is_among_names(kInterpreters, name)) return interpreted(words, depth);
  if (is_among_names(kManagers, name)) return managed(words, depth);
  if (is_any_of(name, {"cargo", "dotnet", "go"})) {
    const auto sub =
        std::find_if(words.begin() + 1, words.end(), [](auto word) { return is_word(word.front()); });
    const bool tests =
        sub != words.end() && is_any_of(*sub, {"llvm-cov", "miri", "nextest", "t", "tarpaulin", "test"});
    return {tests ? ProgramKind::kRunner : ProgramKind::kTool,
            fmt::format("{} {}", name, sub == words.end() ? "" : *sub)};
  }
  if (is_among_names(kTestRunners, name)) return {ProgramKind::kRunner, std::string(name)};
  return {is_among_names(kLinters, name) ? ProgramKind::kTool : ProgramKind::kOther, std::string(name)};
}

// The modules that a command has Node.js load before a test ("--require ./x.js").
std::set<std::string> loads_of(const ProgramWords& words) {
  std::set<std::string> out;
  bool takes_r = false;  // nyc and c8 have a reporter after -r
  for (auto word = words.begin(); word != words.end(); ++word) {
    const auto option = word->substr(0, word->find('='));
    takes_r = takes_r || is_any_of(name_of(*word), {"ava", "mocha", "node", "tap", "ts-node", "tsx"});
    const bool is_long = is_any_of(option, {"--require", "--import", "--loader", "--experimental-loader"});
    const bool is_short = takes_r && word->starts_with("-r") && word->find_first_not_of("./@", 2) != 2;
    if (!is_long && !is_short) continue;
    const bool has_value = option.size() < word->size() || (!is_long && word->size() > 2);
    out.insert(has_value || word + 1 == words.end() ? std::string(*word)
                                                    : fmt::format("{} {}", *word, word[1]));
  }
  return out;
}

struct Programs {
  std::vector<Program> all;
  std::set<std::string> names, idle, loads, steering, widening;
};
// Options without which the runners of a command take fewer tests.
std::set<std::string> widening_in(const ProgramWords& words) {
  std::set<std::string> out;
  ProgramWords names;
  for (const auto word : words) {
    if (const auto found = option_in(widening_options(), word, "", names); !found.empty()) out.emplace(found);
    if (!word.starts_with('-')) names.push_back(program_name(word));
  }
  return out;
}
Programs programs_of(const std::vector<std::string>& commands) {
  Programs out;
  for (const auto& command : commands) {
    const auto words = words_of_command(command);
    out.loads.merge(loads_of(words));
    out.steering.merge(steering_in(command));
    auto program = program_of(words);
    if (program.kind == ProgramKind::kIdle) {
      out.idle.insert(program.name);
      continue;
    }
    out.widening.merge(widening_in(words));
    out.names.insert(program.name);
    out.all.push_back(std::move(program));
  }
  return out;
}

// Whether an option has a runner write what its tests expect.
bool writes_expectations(const std::string& steering) {
  return steering.starts_with("-u") || steering.find("update") != steering.npos ||
         steering.find("UPDATE") != steering.npos || steering.find("snapshot") != steering.npos;
}

// The commands without new ones that run tests beside each command of base that does: they take no test away.
std::vector<std::string> without_more(const std::vector<std::string>& before,
                                      const std::vector<std::string>& after) {
  std::set<std::string_view> old, now, tests;
  for (const auto& each : after) now.insert(trimmed(each));
  for (const auto& each : before) {
    old.insert(trimmed(each));
    if (runs_tests(each)) tests.insert(trimmed(each));
  }
  if (tests.empty() || !std::ranges::includes(now, tests)) return after;
  auto out = after;
  std::erase_if(out, [&](const auto& each) {
    return !old.contains(trimmed(each)) && runs_tests(each) &&
           std::ranges::none_of(steering_in(each), writes_expectations);
  });
  return out;
}

// Whether a new file that is loaded first only sets variables of the environment that steer no program.
bool is_harmless(std::string_view load, const Moves& moves) {
  const auto at = load.find_first_of("= ");
  if (!moves.new_text || at == load.npos) return false;
  return only_sets_variables(moves.new_text(own_path(load.substr(at + 1))));
}

// Why the tests of `after` are others, or say something else, although their runner is the same.
std::string steered_by(const std::vector<std::string>& before, const std::vector<std::string>& after,
                       const Moves& moves) {
  const auto old = programs_of(before), now = programs_of(without_more(before, after));
  for (const auto& load : now.loads)
    if (!old.loads.contains(load) && !is_harmless(load, moves))
      return fmt::format("loads `{}` before the tests", load);
  for (const auto& each : now.steering)
    if (!old.steering.contains(each))
      return fmt::format("sets `{}`, which decides what its tests are or say", each);
  for (const auto& each : old.widening)
    if (!now.widening.contains(each) && std::ranges::includes(now.names, old.names))
      return fmt::format("leaves `{}` out, without which fewer tests run", each);
  for (const auto& each : old.all)
    if (const auto program = each.name.substr(0, each.name.find(' '));
        !now.names.contains(each.name) && now.idle.contains(program))
      return fmt::format("asks `{}` for nothing that can fail", program);
  return path_left_out(before, after, moves.in_base, moves.in_work);
}

// A test runner, or with `own` a program of the workspace, that is run no more, where no other runner is new.
std::string lost_of(const Programs& old, const Programs& now, bool own) {
  const auto test = std::ranges::find_if(old.all, [&](const auto& each) {
    return ((own && each.kind == ProgramKind::kOwn) || each.kind == ProgramKind::kRunner) &&
           !now.names.contains(each.name);
  });
  const bool has_runner = std::ranges::any_of(now.all, [&](const auto& each) {
    return each.kind == ProgramKind::kRunner && !old.names.contains(each.name);
  });
  return test == old.all.end() || has_runner ? "" : fmt::format("does not run `{}` any more", test->name);
}

}  // namespace

std::string_view program_name(std::string_view path) {
  auto name = name_of(path);
  for (const std::string_view end : {".js", ".cjs", ".mjs"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  return name;
}

std::string own_program(std::string_view command) {
  const auto words = words_of_command(command);
  const auto program = program_of(words);
  const bool is_text = program.name.find(' ') != program.name.npos;
  return program.kind == ProgramKind::kOwn && !is_text ? program.name : "";
}

std::vector<std::string> commands_of(std::string_view script) {
  constexpr std::string_view kBetweenCommands = ";&|()\n`";
  std::vector<std::string> out;
  for (std::size_t start = 0; start < script.size();) {
    const auto end = std::min(script.find_first_of(kBetweenCommands, start), script.size());
    if (!words_of_command(script.substr(start, end - start)).empty())
      out.emplace_back(script.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

std::string steered(const std::vector<std::string>& before, const std::vector<std::string>& after,
                    const Moves& moves) {
  if (auto why = steered_by(before, after, moves); !why.empty()) return why;
  const auto old = programs_of(before), now = programs_of(after);
  const auto is_new = [&](ProgramKind kind) {
    return std::ranges::any_of(
        now.all, [&](const auto& each) { return each.kind == kind && !old.names.contains(each.name); });
  };
  // The work could have written such a program anew in its place.
  const bool may_move = is_new(ProgramKind::kOwn) || (!moves.of_tests && is_new(ProgramKind::kTool));
  auto kept = old;
  std::erase_if(kept.all, [&](const auto& each) {
    const bool is_helper = is_among_names(kHelpers, each.name);
    return is_helper ||
           (may_move && each.kind == ProgramKind::kOwn && moves.has_gone && moves.has_gone(each.name));
  });
  const auto lost = std::ranges::find_if(kept.all, [&](const auto& each) {
    return each.kind != ProgramKind::kTool && !now.names.contains(each.name);
  });
  if (lost == kept.all.end()) return "";
  for (const auto& each : now.all)
    if (each.kind == ProgramKind::kOwn && !old.names.contains(each.name))
      return fmt::format("runs `{}` instead of {}`{}`", each.name,
                         lost->kind == ProgramKind::kOwn ? "" : "an installed program, ", lost->name);
  return lost_of(kept, now, true);
}

std::string lost_runner(const std::vector<std::string>& before, const std::vector<std::string>& after,
                        const Moves& moves) {
  const auto why = lost_of(programs_of(before), programs_of(after), false);
  return why.empty() ? steered_by(before, after, moves) : why;
}

std::string runner_of(std::string_view command) {
  auto program = program_of(words_of_command(command));
  return program.kind == ProgramKind::kRunner ? std::move(program.name) : "";
}

bool runs_tests(std::string_view command) { return !runner_of(command).empty(); }

bool is_tool(std::string_view command) {
  if (command.find_first_of("<>$") != command.npos) return false;
  auto words = words_of_command(command);
  const auto kind = program_of(words).kind;
  if (kind == ProgramKind::kOwn || kind == ProgramKind::kRunner || !loads_of(words).empty()) return false;
  std::erase_if(words, [](auto word) { return sets_variable(word) || is_among_names(kWrappers, word); });
  if (words.empty() || is_below_modules(command)) return words.empty();
  const auto is_built = [](std::string_view path) {
    const auto own = own_path(path);
    return is_among_names(kBuilt, std::string_view(own).substr(0, own.find('/'))) &&
           own.find("..") == own.npos;
  };
  const auto name = program_name(words[0]);
  if (is_any_of(name, {"echo", "exit", "true", ":"})) return true;
  if (is_any_of(name, {"rm", "rimraf", "mkdir"}))
    return std::ranges::all_of(words.begin() + 1, words.end(),
                               [&](auto word) { return word.starts_with('-') || is_built(word); });
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto option = words[i].substr(0, words[i].find('='));
    if (!is_any_of(option, {"-d", "-o", "--dir", "--file", "--out-dir", "--out-file", "--outDir", "--outFile",
                            "--outdir", "--outfile", "--output-path"}))
      continue;
    const auto value = option.size() < words[i].size() ? words[i].substr(option.size() + 1)
                       : i + 1 < words.size()          ? words[i + 1]
                                                       : std::string_view();
    if (!is_built(value)) return false;
  }
  return is_among_names(kLinters, name);
}

}  // namespace pawl::gates
