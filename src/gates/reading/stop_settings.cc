#include "gates/reading/stop_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/lines.h"
#include "gates/policy/make_flags.h"
#include "gates/policy/package_scripts.h"
#include "gates/policy/run_targets.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/own_keys.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using TextOf = std::function<std::string(const std::string& path)>;
using Words = std::vector<std::string>;
using WordList = std::span<const std::string_view>;

constexpr std::size_t kRowsBytesMax = 1 << 20;  // for scripts that are searched for tests in a row
constexpr std::size_t kTextsMax = 200;          // commands that are read: scripts, recipes, lines
constexpr std::size_t kScriptWordsMax = 500;    // words of a text that may be a script's path
// An agent may have written all of these texts. Beyond these bounds a path has no text, and the result says so.
constexpr std::size_t kFoldersMax = 64, kLookupsMax = 50'000, kFilesMax = 2'000, kBytesMax = 32 << 20;

// `files` have commands of `programs`, which run them.
struct CommandFiles {
  WordList programs, files;
};
constexpr std::string_view kTox[] = {"tox"}, kToxStopFiles[] = {"tox.ini", "setup.cfg", "pyproject.toml"};
constexpr std::string_view kNox[] = {"nox"}, kNoxStopFiles[] = {"noxfile.py"};
constexpr std::string_view kRake[] = {"rake"}, kRakeStopFiles[] = {"Rakefile"};
constexpr std::string_view kJust[] = {"just"}, kJustStopFiles[] = {"justfile", "Justfile", ".justfile"};
constexpr std::string_view kComposer[] = {"composer"}, kComposerStopFiles[] = {"composer.json"};
constexpr std::string_view kDeno[] = {"deno"}, kDenoStopFiles[] = {"deno.json", "deno.jsonc"};
constexpr std::string_view kProjects[] = {"hatch", "pdm", "poe", "poetry", "pixi"},
                           kProjectStopFiles[] = {"pyproject.toml"};
constexpr CommandFiles kCommandFiles[] = {
    {kTox, kToxStopFiles},          {kNox, kNoxStopFiles},           {kRake, kRakeStopFiles},
    {kJust, kJustStopFiles},        {kComposer, kComposerStopFiles}, {kDeno, kDenoStopFiles},
    {kProjects, kProjectStopFiles},
};

// `files`: settings of `programs`. `keys`: settings whose value is true, or a number of failures.
struct StopSettings {
  WordList programs, files, keys;
  enum class Form {
    kKeys,     // the keys may be anywhere in the file
    kObjects,  // the file has objects, and other programs and plugins may have equal keys in theirs
    kOptions,  // the file consists of options of the command
    kAddopts,  // the file has options of the command after this key
  } form = Form::kKeys;
  // kObjects: the object with the keys in package.json, and the one that may have them in other files.
  std::string_view section = {}, within = {};
};
// From the manuals of the runners: docs.pytest.org, mochajs.org, jestjs.io, vitest.dev, rspec.info,
// docs.phpunit.de, playwright.dev, github.com/avajs/ava, cmake.org, docs.gradle.org, maven.apache.org/surefire
constexpr std::string_view kPytest[] = {"pytest", "py.test"};
constexpr std::string_view kPytestStopFiles[] = {"pytest.ini", ".pytest.ini", "pytest.toml",   ".pytest.toml",
                                                 "tox.ini",    "setup.cfg",   "pyproject.toml"};
constexpr std::string_view kMocha[] = {"mocha", "_mocha", "mocha.js"}, kBail[] = {"bail"};
constexpr std::string_view kMochaStopFiles[] = {".mocharc.json", ".mocharc.jsonc", ".mocharc.yml",
                                                ".mocharc.yaml", ".mocharc.js",    ".mocharc.cjs",
                                                ".mocharc.mjs",  "package.json"};
constexpr std::string_view kJest[] = {"jest", "jest.js", "react-scripts"};
constexpr std::string_view kJestStopFiles[] = {"jest.config.js",  "jest.config.ts",   "jest.config.mjs",
                                               "jest.config.cjs", "jest.config.json", "package.json"};
constexpr std::string_view kVitest[] = {"vitest", "vitest.mjs"};
constexpr std::string_view kVitestStopFiles[] = {"vitest.config.ts",  "vitest.config.js", "vitest.config.mjs",
                                                 "vitest.config.mts", "vite.config.ts",   "vite.config.js",
                                                 "vite.config.mjs",   "vite.config.mts"};
constexpr std::string_view kAva[] = {"ava"}, kFailFast[] = {"failFast", "maxParallelFailures"};
constexpr std::string_view kAvaStopFiles[] = {"ava.config.js", "ava.config.cjs", "ava.config.mjs",
                                              "package.json"};
constexpr std::string_view kPlaywright[] = {"playwright"}, kMaxFailures[] = {"maxFailures"};
constexpr std::string_view kPlaywrightStopFiles[] = {"playwright.config.ts", "playwright.config.js",
                                                     "playwright.config.mjs"};
constexpr std::string_view kRspec[] = {"rspec", "rake"}, kRspecKeys[] = {"fail_fast"};
constexpr std::string_view kRspecStopFiles[] = {".rspec", ".rspec-local"};
constexpr std::string_view kRspecHelpers[] = {"spec/spec_helper.rb", "spec/rails_helper.rb"};
constexpr std::string_view kPhpunit[] = {"phpunit"};
constexpr std::string_view kPhpunitKeys[] = {"stopOnFailure", "stopOnError", "stopOnDefect"};
constexpr std::string_view kPhpunitStopFiles[] = {"phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"};
constexpr std::string_view kCtest[] = {"ctest"}, kCtestKeys[] = {"stopOnFailure"};
constexpr std::string_view kCtestStopFiles[] = {"CMakePresets.json", "CMakeUserPresets.json"};
constexpr std::string_view kGradle[] = {"gradle", "gradlew"}, kGradleKeys[] = {"failFast"};
constexpr std::string_view kGradleStopFiles[] = {"build.gradle", "build.gradle.kts"};
constexpr std::string_view kMaven[] = {"mvn", "mvnw"}, kMavenKeys[] = {"skipAfterFailureCount"};
constexpr std::string_view kMavenStopFiles[] = {"pom.xml"};
using Form = StopSettings::Form;
constexpr StopSettings kStopSettings[] = {
    {kPytest, kPytestStopFiles, {}, Form::kAddopts},
    {kMocha, kMochaStopFiles, kBail, Form::kObjects, "mocha"},
    {kJest, kJestStopFiles, kBail, Form::kObjects, "jest"},
    {kVitest, kVitestStopFiles, kBail, Form::kObjects, {}, "test"},
    {kAva, kAvaStopFiles, kFailFast, Form::kObjects, "ava"},
    {kPlaywright, kPlaywrightStopFiles, kMaxFailures, Form::kObjects},
    {kRspec, kRspecStopFiles, {}, Form::kOptions},
    {kRspec, kRspecHelpers, kRspecKeys},
    {kPhpunit, kPhpunitStopFiles, kPhpunitKeys},
    {kCtest, kCtestStopFiles, kCtestKeys},
    {kGradle, kGradleStopFiles, kGradleKeys},
    {kMaven, kMavenStopFiles, kMavenKeys},
};

bool is_among(WordList words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

// The number of failures in the text after a key: ": true", " = 3", ">1<"; 0: none, or the key is off.
std::int64_t failures_behind(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n'\"";
  if (text.starts_with(".set(")) text = text.substr(4);
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty() || std::string_view(":=>(").find(text.front()) == std::string_view::npos) return 0;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  std::size_t size = 0;
  while (size < text.size() && is_word(text[size])) ++size;
  if (size < text.size() && text[size] == '.') return 0;  // A version: "bail": "2.0.2" is a package.
  const auto value = text.substr(0, size);
  if (is_any_of(value, {"true", "True", "yes", "on"})) return 1;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? std::max<std::int64_t>(0, number) : 0;
}

StopOption key_in(std::string_view text, WordList keys) {
  for (const auto key : keys)
    for (auto at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const auto end = at + key.size();
      if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '-')) continue;
      if (const auto failures = failures_behind(text.substr(end)); failures > 0)
        return {.word = std::string(key), .failures = failures, .file = {}, .not_searched = {}};
    }
  return {};
}

StopOption own_key_in(std::string_view text, std::string_view file, const StopSettings& of) {
  const bool is_package = file == "package.json";
  const bool is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
  const auto found =
      is_yaml
          ? own_keys_of_yaml(text, of.keys)
          : own_keys(text, of.keys, {.name = is_package ? of.section : of.within, .is_required = is_package});
  for (const auto& [key, end] : found)
    if (const auto failures = failures_behind(text.substr(end)); failures > 0)
      return {.word = std::string(key), .failures = failures, .file = {}, .not_searched = {}};
  return {};
}

StopOption setting_in(std::string_view text, std::string_view file, const StopSettings& of) {
  switch (of.form) {
    case Form::kKeys:
      return key_in(text, of.keys);
    case Form::kObjects:
      return own_key_in(text, file, of);
    case Form::kOptions:
      return stop_option_in({std::string(text)});
    case Form::kAddopts:
      break;
  }
  return stop_option_in({"pytest", addopts_in(text)});
}

class StopSearch {
 public:
  explicit StopSearch(const StopSources& sources)
      : sources_(sources), text_of_([this](const std::string& path) { return looked_up(path); }) {}
  StopSearch(const StopSearch&) = delete;
  StopSearch& operator=(const StopSearch&) = delete;

  StopOption find(const std::vector<std::string>& argv) {
    auto out = found(argv);
    out.not_searched = std::move(bound_);
    return out;
  }

 private:
  StopOption found(const std::vector<std::string>& argv) {
    see_row(argv, "sh -e", "");
    std::string command;
    for (const auto& word : argv) command += word + " ";
    add(std::move(command), "");
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto [text, file] = texts_[i];  // a copy: the list grows
      if (auto option = stop_option_in({text}); !option.word.empty()) return in(file, std::move(option));
      follow(text);
    }
    auto setting = setting_of_runners();
    return setting.word.empty() ? std::move(in_a_row_) : std::move(setting);
  }

  StopOption setting_of_runners() {
    const auto places = folders();
    for (const auto& settings : kStopSettings) {
      if (std::ranges::none_of(settings.programs, [&](auto name) { return names_.contains(name); })) continue;
      for (const auto& folder : places)
        for (const auto file : settings.files) {
          const auto path = folder + std::string(file);
          auto option = setting_in(without_comments(text_at(path)), file, settings);
          if (!option.word.empty()) return in(path, std::move(option));
        }
    }
    return {};
  }

  // Keeps the first bound that the search reached.
  void reach(std::string bound) {
    if (bound_.empty()) bound_ = std::move(bound);
  }

  static StopOption in(const std::string& file, StopOption option) {
    option.file = file;
    return option;
  }

  // Keeps the first command in which a failure keeps other tests from running. `word`: what a person finds there.
  void see_row(const Words& argv, std::string_view word, const std::string& file) {
    if (!in_a_row_.word.empty() || !sources_.hides_tests || argv.empty() || !takes_row(argv.back())) return;
    if (sources_.hides_tests(argv)) keep_row(word, file);
  }

  void keep_row(std::string_view word, const std::string& file) {
    const bool is_make = word == "make";
    in_a_row_ = {.word = std::string(word),
                 .failures = 1,
                 .file = file,
                 .not_searched = {},
                 .remedy = is_make ? "Give each suite a target of its own, and run `make -k`"
                                   : "Give each suite a step of its own"};
  }

  // Bounds the time for scripts that an agent wrote.
  bool takes_row(std::string_view script) {
    rows_bytes_ += script.size();
    if (rows_bytes_ > kRowsBytesMax) reach(fmt::format("{} MiB of scripts", kRowsBytesMax >> 20));
    return rows_bytes_ <= kRowsBytesMax;
  }

  std::string looked_up(const std::string& path) {
    if (++lookups_ > kLookupsMax) {
      reach(fmt::format("{} looks at files", kLookupsMax));
      return {};
    }
    if (const auto known = known_.find(path); known != known_.end()) return known->second;
    if (known_.size() >= kFilesMax) {
      reach(fmt::format("{} files", kFilesMax));
      return {};
    }
    if (bytes_ > kBytesMax) {
      reach(fmt::format("{} MiB of files", kBytesMax >> 20));
      return {};
    }
    auto text = sources_.text_of(path);
    bytes_ += text.size();
    return known_.emplace(path, std::move(text)).first->second;
  }

  std::string cut(std::string text, const std::string& path) {
    if (text.size() <= kCommandBytesMax) return text;
    // The path stays whole: its secrets are removed later, and a part of one would not be found.
    reach(fmt::format("the first {} KiB of {}", kCommandBytesMax >> 10, path.empty() ? "a command" : path));
    text.resize(kCommandBytesMax);
    return text;
  }

  std::string text_at(const std::string& path) { return cut(text_of_(path), path); }

  // A call of Python or a list of JSON may have several lines.
  std::string commands_at(const std::string& path) {
    auto text = without_comments(text_at(path));
    if (path.ends_with(".py") || path.ends_with(".json")) std::ranges::replace(text, '\n', ' ');
    return text;
  }

  // The folders nearest to the root: each `cd` adds one below all that may be reached, and most are guesses.
  std::vector<std::string> modules() {
    std::vector<std::pair<std::ptrdiff_t, std::string>> by_depth;
    for (const auto& folder : places_.modules) by_depth.emplace_back(std::ranges::count(folder, '/'), folder);
    const auto kept = std::min(by_depth.size(), kFoldersMax);
    if (kept < by_depth.size()) reach(fmt::format("{} folders", kFoldersMax));
    std::ranges::partial_sort(by_depth, by_depth.begin() + static_cast<std::ptrdiff_t>(kept));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < kept; ++i) out.push_back(std::move(by_depth[i].second));
    return out;
  }

  // The root and the folders that commands go to, each as the beginning of a path.
  std::vector<std::string> folders() {
    std::vector<std::string> out{""};
    for (const auto& folder : modules())
      if (!folder.empty()) out.push_back(folder + "/");
    return out;
  }

  void add(std::string text, const std::string& file) {
    text = cut(std::move(text), file);
    if (text.empty() || seen_.contains(text)) return;
    if (texts_.size() >= kTextsMax) return reach(fmt::format("{} commands", kTextsMax));
    seen_.insert(text);
    texts_.emplace_back(std::move(text), file);
  }

  void follow(const std::string& text) {
    places_.add({text});
    const auto words = words_of_command(text);
    for (const auto word : words) names_.emplace(name_of(word));
    RunTargets targets;
    targets.add({text});
    add_scripts(targets, words);
    // make hands -k on to those that it starts.
    goes_on_ = goes_on_ ||
               (names_.contains("make") && has_flag(text.substr(0, kCommandBytesMax), 'k', {"--keep-going"}));
    add_recipes(targets);
    add_shell_scripts(words);
    for (const auto& each : kCommandFiles)
      if (std::ranges::any_of(words, [&](auto word) { return is_among(each.programs, name_of(word)); }))
        for (const auto& folder : folders())
          for (const auto file : each.files)
            add(commands_at(folder + std::string(file)), folder + std::string(file));
  }

  // `npm ci` and `bun test` are commands of the programs, whatever scripts there are.
  static bool is_command_of_npm(const std::vector<std::string_view>& words, std::string_view target) {
    constexpr std::string_view kOfNpm[] = {"add", "audit", "ci", "exec", "i", "install", "pack"};
    const auto named = std::ranges::find(words, target);
    if (named == words.begin() || named == words.end()) return false;
    const auto before = name_of(*(named - 1));
    return (before == "npm" && is_among(kOfNpm, target)) || (before == "bun" && target == "test");
  }

  void add_scripts(const RunTargets& targets, const std::vector<std::string_view>& words) {
    if (targets.scripts.empty()) return;
    for (const auto& folder : folders()) {
      const auto path = folder + "package.json";
      const auto scripts = scripts_of(text_of_(path)).value_or(Scripts());
      for (const auto& target : targets.scripts) {
        std::string row;  // npm ends at the first of them that fails
        for (const auto* before : {"pre", "", "post"}) {
          const auto script = scripts.find(before + target);
          if (script == scripts.end()) continue;
          add(script->second, path);
          row += (row.empty() ? "" : " && ") + script->second;
        }
        if (!is_command_of_npm(words, target)) see_row({"sh", "-c", row}, "&&", path);
      }
    }
  }

  void add_recipes(RunTargets& targets) {
    const auto places = modules();
    targets.read_makefiles(std::set<std::string>(places.begin(), places.end()), text_of_);
    for (auto& make : targets.makes) {
      make.base.variables.try_emplace("MAKE", "make");
      if (make.base.is_cut) reach("the first rules of a Makefile");
      TestsOfMake tests{.goes_on = goes_on_, .ignores = make.base.settings.ignores || make.base.is_one_shell};
      for (const auto& name : make.reached) {
        const auto rule = make.base.rules.find(name);
        if (rule == make.base.rules.end()) continue;
        tests.begin_target();
        for (const auto& line : rule->second.recipe) {
          auto command = expanded(line.text, make.base.variables);
          if (line.when.empty()) see_recipe(command, tests, make.base.files.at(line.file));
          add(std::move(command), make.base.files.at(line.file));
        }
      }
    }
  }

  // make ends at the first line that fails. With -k, only the recipe with that line ends.
  struct TestsOfMake {
    bool goes_on = false;  // after a failure, with the next recipe
    bool ignores = false;  // failures of lines have no effect
    int lines = 0;         // lines so far that run tests and may hide the tests of a later line
    void begin_target() { lines = goes_on ? 0 : lines; }
  };

  // make runs each line by a shell of its own, without -e. It ignores failures of a line that begins with "-".
  void see_recipe(const std::string& command, TestsOfMake& tests, const std::string& file) {
    const auto start = std::min(command.find_first_not_of(" \t@+"), command.size());
    const bool ignored = tests.ignores || (start < command.size() && command[start] == '-');
    if (ignored || !in_a_row_.word.empty() || !sources_.hides_tests || !takes_row(command)) return;
    const auto script = command.substr(start);
    tests.lines += sources_.runs_tests(script) ? 1 : 0;
    if (tests.lines > 1 || sources_.hides_tests({"sh", "-c", script})) keep_row("make", file);
  }

  void add_shell_scripts(const std::vector<std::string_view>& words) {
    const auto places = folders();
    std::size_t tried = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto path = words[i];
      if (path.starts_with("/workspace/")) path.remove_prefix(11);
      while (path.starts_with("./")) path.remove_prefix(2);
      const bool has_option = i > 1 && words[i - 1].starts_with('-');
      const auto before = i == 0 ? std::string_view() : name_of(words[i - (has_option ? 2 : 1)]);
      const bool is_read = is_any_of(before, {"sh", "bash", "dash", "ksh", "zsh", "."});
      const bool may_be = is_read || path.find('/') != path.npos || path.ends_with(".sh");
      if (!may_be || path.starts_with('/') || path.starts_with('-')) continue;
      if (++tried > kScriptWordsMax) return reach(fmt::format("{} paths in a command", kScriptWordsMax));
      const auto option = is_read && has_option ? words[i - 1] : std::string_view();
      for (const auto& folder : places) add_shell_script(folder + std::string(path), is_read, option);
    }
  }

  // `option`: of the shell that reads it. Without one, the first line has them.
  void add_shell_script(const std::string& file, bool is_read, std::string_view option) {
    auto text = text_of_(file);
    const std::string first(first_line(text));
    const bool names_shell =
        first.starts_with("#!") && (first.ends_with("sh") || first.find("sh -") != first.npos);
    if (!is_read && !file.ends_with(".sh") && !names_shell) return;
    text = without_comments(cut(std::move(text), file));
    const bool errexit = has_shell_flag(is_read ? option : std::string_view(first), 'e');
    see_row(errexit ? Words{"sh", "-e", "-c", text} : Words{"sh", "-c", text}, "sh", file);
    add(std::move(text), file);
  }

  const StopSources& sources_;
  const TextOf text_of_;  // Cached and bounded.
  StopOption in_a_row_;
  bool goes_on_ = false;  // make goes on after a failure
  std::size_t rows_bytes_ = 0;
  std::map<std::string, std::string> known_;
  std::size_t lookups_ = 0, bytes_ = 0;
  std::vector<std::pair<std::string, std::string>> texts_;  // commands, each with its file
  std::set<std::string> seen_;
  std::set<std::string, std::less<>> names_;  // programs, and all other words
  SearchFolders places_;
  std::string bound_;
};

}  // namespace

std::string addopts_in(std::string_view text) {
  constexpr std::string_view kName = "addopts";
  std::string out;
  bool open = false;
  std::string_view closes;  // "": the first line that is not indented ends them
  for (const auto line : TextLines(text)) {
    auto value = trimmed(line);
    // TOML takes a key in quotes, after dots and in an inline table. INI takes a colon.
    const auto at = value.find(kName);
    const bool is_named = at != value.npos && (at == 0 || std::string_view(" {,.\"'").find(value[at - 1]) !=
                                                              std::string_view::npos);
    auto rest = trimmed(value.substr(is_named ? at + kName.size() : value.size()));
    if (rest.starts_with('"') || rest.starts_with('\'')) rest = trimmed(rest.substr(1));
    if (rest.starts_with('=') || rest.starts_with(':')) {
      value = trimmed(rest.substr(1));
      open = true;
      closes = value.starts_with('[') ? "]" : value.substr(0, 3);
      if (closes != "]" && closes != "\"\"\"" && closes != "'''") closes = {};
      value.remove_prefix(closes.size());
    } else if (open && closes.empty() && !line.starts_with(' ') && !line.starts_with('\t')) {
      open = false;
    }
    if (open) out += std::string(value) + " ";
    if (!closes.empty() && value.find(closes) != value.npos) open = false;
  }
  return out;
}

StopOption stop_option_behind(const std::vector<std::string>& argv, const StopSources& sources) {
  return StopSearch(sources).find(argv);
}

}  // namespace pawl::gates
