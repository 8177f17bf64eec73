#include "gates/policy/runner_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>

#include "base/lines.h"
#include "gates/policy/build_files.h"
#include "gates/policy/named_modules.h"
#include "gates/policy/package_scripts.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using Words = std::span<const std::string_view>;

// `files`: names, each with its folder when it only counts there; "*.x" stands for an extension. `keys`: keys
// of "KEY = VALUE". `words`: options. `texts`: parts of a line without its spaces and quotes.
struct Settings {
  std::string_view tool;
  Words files, keys, words, texts;
};

// doc.rust-lang.org/cargo/reference/config.html and manifest.html
constexpr std::string_view kCargoFiles[] = {".cargo/config", ".cargo/config.toml"};
constexpr std::string_view kCargoKeys[] = {"runner", "rustc", "rustdoc", "rustc-wrapper",
                                           "rustc-workspace-wrapper"};
// nexte.st/docs/configuration/reference
constexpr std::string_view kNextestFiles[] = {".config/nextest.toml"};
constexpr std::string_view kNextestKeys[] = {"default-filter"};
constexpr std::string_view kManifestFiles[] = {"Cargo.toml"};
constexpr std::string_view kManifestTexts[] = {"autotests=false"};
// docs.npmjs.com/cli/v10/using-npm/config
constexpr std::string_view kNpmFiles[] = {".npmrc"};
constexpr std::string_view kNpmKeys[] = {"globalconfig", "node-options", "script-shell", "shell",
                                         "userconfig"};
// ignore-scripts leaves `pretest` and `posttest` out, too. A key without a value is true.
constexpr std::string_view kNpmWords[] = {"if-present", "ignore-scripts"};
// pnpm.io/settings, also in .npmrc
constexpr std::string_view kPnpmFiles[] = {"pnpm-workspace.yaml", ".npmrc"};
constexpr std::string_view kPnpmTexts[] = {"enable-pre-post-scripts=false", "enablePrePostScripts:false",
                                           "ignoreScripts:true", "nodeOptions:", "scriptShell:"};
// yarnpkg.com/configuration/yarnrc, and Yarn 1: the program that runs in Yarn's place, and its plugins. Yarn itself
// writes releases to .yarn.
constexpr std::string_view kYarnFiles[] = {".yarnrc", ".yarnrc.yml"};
constexpr std::string_view kYarnTexts[] = {"ignore-scripttrue", "nodeOptions:", "script-shell", "yarn-path./",
                                           "yarnPath:./"};
// maven.apache.org/configure.html, and Surefire's own properties
constexpr std::string_view kMavenFiles[] = {".mvn/maven.config", ".mvn/jvm.config"};
constexpr std::string_view kMavenWords[] = {
    "-fn",       "--fail-never", "-Dmaven.test.failure.ignore", "-DtestFailureIgnore",    "-DskipTests",
    "-DskipITs", "-DskipExec",   "-Dmaven.test.skip",           "-Dmaven.test.skip.exec", "-javaagent"};
// An option and its value may have a line each.
constexpr std::string_view kMavenTexts[] = {"-DskipTests",
                                            "-DskipITs",
                                            "-DskipExec",
                                            "-Dmaven.test.skip",
                                            "-Dmaven.test.skip.exec",
                                            "-Dmaven.test.failure.ignore",
                                            "-DtestFailureIgnore",
                                            "--defineskipTests",
                                            "--defineskipITs",
                                            "--definemaven.test.skip",
                                            "--definemaven.test.failure.ignore"};
constexpr std::string_view kPomFiles[] = {"pom.xml"};
constexpr std::string_view kPomTexts[] = {
    "<testFailureIgnore>true", "<maven.test.failure.ignore>true", "<skipTests>true", "<maven.test.skip>true",
    "<skipITs>true",           "<maven.test.skip.exec>true",      "<skipExec>true"};
// docs.gradle.org/current/dsl/org.gradle.api.tasks.testing.Test.html
constexpr std::string_view kGradleFiles[] = {"*.gradle", "*.gradle.kts"};
constexpr std::string_view kGradleTexts[] = {"ignoreFailures=true", "ignoreFailurestrue",
                                             "ignoreFailures.set(true)", "setIgnoreFailures(true)"};
// mochajs.org, "--dry-run": each test passes and none runs. RSpec has the same option.
constexpr std::string_view kMochaFiles[] = {".mocharc.json", ".mocharc.jsonc", ".mocharc.yml",
                                            ".mocharc.yaml", ".mocharc.js",    ".mocharc.cjs",
                                            "package.json"};
constexpr std::string_view kMochaTexts[] = {"dry-run:true", "dry-run:yes", "dry-run:on", "dry-run:1",
                                            "dry-run:!0",   "dryRun:true", "dryRun:yes", "dryRun:on",
                                            "dryRun:1",     "dryRun:!0"};
constexpr std::string_view kRspecFiles[] = {".rspec", ".rspec-local"};
constexpr std::string_view kRspecWords[] = {"--dry-run", "--failure-exit-code", "--error-exit-code"};
constexpr std::string_view kRakeFiles[] = {"Rakefile", "*.rake"};
constexpr std::string_view kRakeTexts[] = {"fail_on_error=false"};
// perldoc prove
constexpr std::string_view kProveFiles[] = {".proverc"};
constexpr std::string_view kProveWords[] = {"--exec", "--dry",  "--ext", "--version",
                                            "--h",    "--help", "--man", "--ignore-exit"};
constexpr std::string_view kProveLetters = "eDVhH?", kProveValues = "IPMaj";
// tox.wiki/en/latest/config.html, nox.thea.codes/en/stable/config.html
constexpr std::string_view kToxFiles[] = {"tox.ini"};
constexpr std::string_view kToxTexts[] = {"ignore_outcome=true", "ignore_errors=true"};
constexpr std::string_view kNoxFiles[] = {"noxfile.py"};
constexpr std::string_view kNoxTexts[] = {"success_codes="};
// docs.pytest.org/en/stable/reference/reference.html, for addopts
constexpr std::string_view kPytestFiles[] = {"pytest.ini", ".pytest.ini", "pytest.toml",   ".pytest.toml",
                                             "tox.ini",    "setup.cfg",   "pyproject.toml"};
constexpr std::string_view kPytestWords[] = {"--collect-only", "--collectonly", "--co",       "--setup-only",
                                             "--setuponly",    "--setup-plan",  "--setupplan"};
// cmake.org, ctest(1)
constexpr std::string_view kCtestFiles[] = {"CTestCustom.cmake", "CTestCustom.ctest"};
constexpr std::string_view kCtestTexts[] = {"CTEST_CUSTOM_TESTS_IGNORE"};
constexpr Settings kSettings[] = {{"cargo", kCargoFiles, kCargoKeys, {}, {}},
                                  {"cargo", kManifestFiles, {}, {}, kManifestTexts},
                                  {"nextest", kNextestFiles, kNextestKeys, {}, {}},
                                  {"npm", kNpmFiles, kNpmKeys, kNpmWords, {}},
                                  {"pnpm", kPnpmFiles, {}, {}, kPnpmTexts},
                                  {"Yarn", kYarnFiles, {}, {}, kYarnTexts},
                                  {"Maven", kMavenFiles, {}, kMavenWords, kMavenTexts},
                                  {"Maven", kPomFiles, {}, {}, kPomTexts},
                                  {"Gradle", kGradleFiles, {}, {}, kGradleTexts},
                                  {"Mocha", kMochaFiles, {}, {}, kMochaTexts},
                                  {"RSpec", kRspecFiles, {}, kRspecWords, {}},
                                  {"rake", kRakeFiles, {}, {}, kRakeTexts},
                                  {"prove", kProveFiles, {}, kProveWords, {}},
                                  {"tox", kToxFiles, {}, {}, kToxTexts},
                                  {"nox", kNoxFiles, {}, {}, kNoxTexts},
                                  {"pytest", kPytestFiles, {}, kPytestWords, {}},
                                  {"CTest", kCtestFiles, {}, {}, kCtestTexts}};

constexpr std::string_view kCommandTables[] = {"[tool.pdm.scripts]", "[tool.poe.tasks]", "[tool.rye.scripts]",
                                               "[tool.taskipy.tasks]"};
constexpr std::string_view kGradleLinters[] = {"checkstyle", "codenarc", "detekt",   "jacoco",
                                               "ktlint",     "pmd",      "spotbugs", "spotless"};

bool is_called(std::string_view path, std::string_view name) {
  if (name.starts_with('*')) return path.ends_with(name.substr(1));
  return path.ends_with(name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

bool holds_settings(const Settings& of, std::string_view path) {
  return std::ranges::any_of(of.files, [&](auto name) { return is_called(path, name); });
}

// The last part of a key, from "target.'cfg(unix)'.runner = x" or "{ runner = x }".
std::string_view key_before(std::string_view text) {
  constexpr std::string_view kAround = " \t'\"[]";
  while (!text.empty() && kAround.find(text.back()) != text.npos) text.remove_suffix(1);
  const auto start = text.find_last_of(" \t'\".{,") + 1;
  return text.substr(start);
}

bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool starts = at == 0 || std::string_view(" \t='\"[,").find(line[at - 1]) != std::string_view::npos;
    if (starts &&
        (end == line.size() || std::string_view(" \t=:'\"],").find(line[end]) != std::string_view::npos))
      return true;
  }
  return false;
}

// Whether a line has `text` at the beginning of a word.
bool has_text(std::string_view compact, std::string_view text) {
  for (auto at = compact.find(text); at != compact.npos; at = compact.find(text, at + 1)) {
    const auto before = at == 0 ? ' ' : compact[at - 1];
    if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_' && before != '-') return true;
  }
  return false;
}

std::string without_spaces(std::string_view line) {
  std::string out;
  std::ranges::copy_if(line, std::back_inserter(out),
                       [](char c) { return std::string_view(" \t'\"\r").find(c) == std::string_view::npos; });
  return out;
}

// Adds the character of an escape of TOML ("\u0061"), whose letter is at `at`. Returns where it ends. Only
// ASCII counts: no option has other characters.
std::size_t add_escaped(std::string_view line, std::size_t at, std::string& to) {
  const auto kind = at < line.size() ? line[at] : '\0';
  const std::size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : kind == 'x' ? 2 : 0;
  const auto hex = line.substr(std::min(at + 1, line.size()), digits);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  if (digits == 0 || hex.size() < digits || error != std::errc() || end != hex.data() + hex.size()) return at;
  to += code < 0x80 ? static_cast<char>(code) : '?';
  return at + 1 + digits;
}

// One of prove's short options, alone or bundled with others ("-ve"). The rest after a letter of
// kProveValues is its value.
std::string_view short_of_prove(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    at = std::min(line.find_first_not_of(" \t", at), line.size());
    const auto word = line.substr(at, line.find_first_of(" \t", at) - at);
    at += word.size();
    if (!word.starts_with('-') || word.starts_with("--")) continue;
    const auto letters = word.substr(1, word.find_first_of(kProveValues) - 1);
    if (const auto found = letters.find_first_of(kProveLetters); found != letters.npos)
      return kProveLetters.substr(kProveLetters.find(letters[found]), 1);
  }
  return {};
}

// Getopt::Long and OptionParser take an option by its first letters, in any case of them. A shorter beginning fits
// several options of prove and RSpec, which refuse it.
bool has_cut_option(std::string_view plain, std::string_view option) {
  constexpr std::size_t kMin = 4;  // "--dr"
  for (std::size_t at = plain.find("--"); at != plain.npos; at = plain.find("--", at + 2)) {
    if (at > 0 && plain[at - 1] != ' ' && plain[at - 1] != '\t') continue;
    const auto word = plain.substr(at, plain.find_first_of(" \t=", at) - at);
    if (word.size() >= kMin && word.size() <= option.size() &&
        std::ranges::equal(word, option.substr(0, word.size()), {},
                           [](char c) { return std::tolower(static_cast<unsigned char>(c)); }))
      return true;
  }
  return false;
}

std::string_view setting_in(std::string_view line, const Settings& of) {
  const auto first = line.find_first_not_of(" \t");
  if (first == line.npos || line[first] == '#' || line[first] == ';' || line.substr(first).starts_with("//"))
    return {};
  const auto plain = of.words.empty() && of.keys.empty() ? std::string() : unquoted(line);
  for (const std::string_view text : {line, std::string_view(plain)})
    for (auto at = text.find('='); at != text.npos; at = text.find('=', at + 1))
      if (const auto key = std::ranges::find(of.keys, key_before(text.substr(0, at))); key != of.keys.end())
        return *key;
  const bool may_be_cut = of.tool == "prove" || of.tool == "RSpec";
  for (const auto word : of.words) {
    const bool is_off = of.tool == "npm" && without_spaces(line).ends_with("=false");
    if (!is_off &&
        (has_word(line, word) || has_word(plain, word) || (may_be_cut && has_cut_option(plain, word))))
      return word;
  }
  // npm puts variables into keys, too. Those of registries have tokens.
  if (of.tool == "npm" && line[first] != '/' && line[first] != '@' &&
      line.substr(0, line.find('=')).find("${") != line.npos)
    return "${";
  if (of.tool == "prove")
    if (const auto found = short_of_prove(plain); !found.empty()) return found;
  if (of.texts.empty()) return {};
  const auto compact = without_spaces(line);
  for (const auto text : of.texts)
    if (has_text(compact, text)) return text;
  return {};
}

std::int64_t times_in(std::string_view content, std::string_view setting, const Settings& of) {
  std::int64_t out = 0;
  for (const auto line : TextLines(content)) out += setting_in(line, of) == setting ? 1 : 0;
  return out;
}

// Tables of pyproject.toml in which a key is a command that somebody may run by its name.
bool names_commands(std::string_view section) {
  return (section.starts_with("[tool.hatch.envs.") && section.ends_with(".scripts]")) ||
         std::ranges::find(kCommandTables, section) != std::end(kCommandTables);
}

// The names of the commands in such tables.
std::set<std::string_view> command_names(std::string_view toml) {
  std::set<std::string_view> out;
  bool is_inside = false;
  for (const auto each : TextLines(toml)) {
    const auto line = trimmed(each);
    if (line.starts_with('[')) is_inside = names_commands(line);
    if (is_inside) out.insert(trimmed(line.substr(0, line.find('='))));
  }
  return out;
}

// Whether a text has what can hide that a line is a part of a value or of a comment.
bool has_long_text(std::string_view content) {
  return std::ranges::any_of(std::to_array<std::string_view>({"\"\"\"", "'''", "/*"}),
                             [&](auto sign) { return content.find(sign) != content.npos; });
}

// Whether a line opens a block of a linter of Gradle, which no test depends on.
bool opens_linter(std::string_view line) {
  return line.ends_with('{') && std::ranges::find(kGradleLinters, trimmed(line.substr(0, line.size() - 1))) !=
                                    std::end(kGradleLinters);
}

// The numbers of the lines of `content` that are not settings of the tool: other tools have the same words.
std::set<std::int64_t> foreign_lines(std::string_view content, const FileChange& change, const Settings& of,
                                     const RunTargets& targets) {
  const bool is_plain = !has_long_text(content), is_tox = of.tool == "tox",
             is_toml = is_plain && of.tool == "pytest" && is_called(change.path, "pyproject.toml"),
             is_gradle = is_plain && of.tool == "Gradle" && !targets.programs.contains("gradle") &&
                         !targets.programs.contains("gradlew");
  const auto known =
      is_toml ? command_names(change.before ? change.before->content : "") : std::set<std::string_view>();
  std::set<std::int64_t> out;
  std::int64_t number = 0, open = 0;
  std::string_view section;
  for (const auto each : TextLines(content)) {
    const auto line = trimmed(each);
    ++number;
    // An indented line goes on with a value in INI.
    if (is_tox ? each.starts_with('[') : line.starts_with('[')) section = line;
    const bool is_other_ini =
        is_tox && !section.empty() && !section.starts_with("[tox") && !section.starts_with("[testenv");
    const bool is_new_command =
        is_toml && names_commands(section) && !known.contains(trimmed(line.substr(0, line.find('='))));
    if (is_gradle && (open > 0 || opens_linter(line)))
      open += std::ranges::count(line, '{') - std::ranges::count(line, '}');
    if (is_other_ini || is_new_command || open > 0) out.insert(number);
  }
  return out;
}

// The content without its foreign lines.
std::string own_lines(std::string_view content, const std::set<std::int64_t>& foreign) {
  if (foreign.empty()) return std::string(content);
  std::string out;
  std::int64_t number = 0;
  for (const auto line : TextLines(content))
    if (!foreign.contains(++number)) out.append(line) += '\n';
  return out;
}

// Whether the content before had the setting at least as often. A line that only moved is not a change.
bool was_there(const FileChange& change, std::string_view setting, const Settings& of) {
  if (!change.before || change.before->content.empty()) return false;
  return times_in(change.before->content, setting, of) >= times_in(change.after->content, setting, of);
}

// Whether npm has no script to leave out: none of the package's scripts has one before or after it.
bool has_no_hooks(const FileChange& change, const RunTargets& targets) {
  if (!targets.base_text || !targets.work_text) return false;
  const auto file = change.path.substr(0, change.path.size() - name_of(change.path).size()) + "package.json";
  for (const auto& text : {targets.base_text(file), targets.work_text(file)}) {
    const auto scripts = scripts_of(text);
    if (!scripts || text.find("workspaces") != text.npos) return false;
    for (const auto& [name, script] : *scripts)
      for (const std::string_view place : {"pre", "post"})
        if (name.starts_with(place) && scripts->contains(name.substr(place.size()))) return false;
  }
  return true;
}

bool leaves_hooks_out(std::string_view setting) {
  return is_any_of(setting, {"enable-pre-post-scripts=false", "enablePrePostScripts:false", "ignore-scripts",
                             "ignoreScripts:true"});
}

}  // namespace

std::string unquoted(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\\')
      at = add_escaped(line, at + 1, out);
    else if (line[at] == '\'' || line[at] == '"')
      ++at;
    else
      out += line[at++];
  }
  return out;
}

bool has_runner_settings(std::string_view path) {
  return may_name_modules(path) ||
         std::ranges::any_of(kSettings, [&](const auto& of) { return holds_settings(of, path); });
}

std::string runner_setting(const FileChange& change, const RunTargets& targets) {
  if (!change.after) return "";
  for (const auto& of : kSettings) {
    if (!holds_settings(of, change.path)) continue;
    const auto foreign = foreign_lines(change.after->content, change, of, targets);
    std::set<std::string_view> known;  // each setting is counted once
    for (const auto& line : change.added)
      if (const auto setting = foreign.contains(line.number) ? std::string_view() : setting_in(line.text, of);
          !setting.empty() && !(leaves_hooks_out(setting) && has_no_hooks(change, targets)) &&
          known.insert(setting).second && !was_there(change, setting, of))
        return fmt::format(
            "line {} sets `{}` of {}, which decides what runs in place of a test or a compiler", line.number,
            setting, of.tool);
    // A setting may be spread over lines of which none has the whole.
    const std::string_view was = change.before ? change.before->content : "";
    const auto before = own_lines(was, foreign_lines(was, change, of, targets)),
               after = own_lines(change.after->content, foreign);
    for (const auto text : of.texts)
      if (!(leaves_hooks_out(text) && has_no_hooks(change, targets)) &&
          times_spread(after, text, true) > times_spread(before, text, true))
        return fmt::format("sets `{}` of {}, which decides what runs in place of a test or a compiler", text,
                           of.tool);
  }
  return "";
}

}  // namespace pawl::gates
