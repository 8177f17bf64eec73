#include "gates/policy/build_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "base/lines.h"
#include "gates/policy/cmake_tests.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// cmake.org, cmake-properties(7): properties of tests, and variables that are put before a test's program.
constexpr auto kCmakeTexts = std::to_array<std::string_view>(
    {"CMAKE_CROSSCOMPILING_EMULATOR", "CMAKE_TEST_LAUNCHER", "CROSSCOMPILING_EMULATOR",
     "PASS_REGULAR_EXPRESSION", "TEST_LAUNCHER", "WILL_FAIL"});
// CMake's commands have any case.
constexpr auto kCmakeCommands = std::to_array<std::string_view>(
    {"function(add_executable", "function(add_test", "macro(add_executable", "macro(add_test"});

// Commands that add tests in another way, or in another file.
constexpr auto kCmakeMoves =
    std::to_array<std::string_view>({"add_subdirectory(", "catch_discover_tests(", "doctest_discover_tests(",
                                     "foreach(", "function(", "gtest_discover_tests(", "include(", "macro("});

constexpr bool is_between(char c) { return std::string_view(" \t\r\n'\"").find(c) != std::string_view::npos; }

bool is_same(char a, char b, bool any_case) {
  const auto low = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return any_case ? low(a) == low(b) : a == b;
}

// Where `text` ends that is spread from `at` on; npos when it is not there.
std::size_t end_of_spread(std::string_view content, std::size_t at, std::string_view text, bool any_case) {
  for (const char c : text) {
    while (at < content.size() && is_between(content[at])) ++at;
    if (at == content.size() || !is_same(content[at], c, any_case)) return content.npos;
    ++at;
  }
  return at;
}

bool is_part_of_word(char c) { return is_word(c) || c == '-'; }

std::string_view before_of(const FileChange& change) {
  return change.before && !change.before->is_link ? change.before->content : std::string_view();
}

std::string weakened_cmake(const FileChange& change, const RunTargets& targets) {
  const auto before = before_of(change);
  // A new test may expect a failure, or a text.
  const auto after = without_new_properties(before, change.after->content);
  const auto adds = [&](std::string_view text, bool any_case) {
    return times_spread(after, text, any_case) > times_spread(before, text, any_case);
  };
  for (const auto text : kCmakeTexts)
    if (adds(text, false))
      return fmt::format("adds `{}`, by which a test can pass without its program", text);
  const bool moves = std::ranges::any_of(kCmakeMoves, [&](auto text) { return adds(text, true); });
  if (times_spread(change.after->content, "add_test(", true) <
          times_spread(before_of(change), "add_test(", true) &&
      !moves)
    return "adds fewer tests than before";
  for (const auto text : kCmakeCommands)
    if (adds(text, true)) return fmt::format("adds `{}`, which replaces a command of CMake", text);
  const auto folder = change.path.substr(0, change.path.size() - name_of(change.path).size());
  return weakened_cmake_tests(before, change.after->content, [&](const std::string& path) {
    return targets.in_base && targets.in_work && targets.in_base(folder + path) &&
           targets.in_work(folder + path);
  });
}

// The keys of a target of Cargo.
using CargoTarget = std::map<std::string, std::string, std::less<>>;

// The targets `[[test]]` of a manifest, by name. doc.rust-lang.org/cargo/reference/cargo-targets.html
std::map<std::string, CargoTarget, std::less<>> tests_of_cargo(std::string_view manifest) {
  std::map<std::string, CargoTarget, std::less<>> out;
  CargoTarget open;
  bool is_test = false;
  const auto close = [&] {
    if (is_test) out[open["name"]] = open;
    open.clear();
  };
  for (const auto each : TextLines(manifest)) {
    const auto line = trimmed(each.substr(0, each.find('#')));
    if (line.starts_with('[')) {
      close();
      is_test = line == "[[test]]";
    }
    const auto sign = line.find('=');
    if (!is_test || sign == line.npos) continue;
    auto value = std::string(trimmed(line.substr(sign + 1)));
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    open[std::string(trimmed(line.substr(0, sign)))] = std::move(value);
  }
  close();
  return out;
}

std::string weakened_cargo(const FileChange& change, const RunTargets& targets) {
  const auto before = tests_of_cargo(before_of(change)), after = tests_of_cargo(change.after->content);
  const auto folder = change.path.substr(0, change.path.size() - name_of(change.path).size());
  for (const auto& [name, target] : after) {
    const auto own = "tests/" + name + ".rs";
    const auto old = before.find(name);
    const auto key = [](const CargoTarget& of, std::string_view one, const std::string& value) {
      const auto found = of.find(one);
      return found == of.end() ? value : found->second;
    };
    const auto was = old == before.end() ? CargoTarget() : old->second;
    const bool is_known =
        old != before.end() || (targets.base_text && !targets.base_text(folder + own).empty());
    if (!is_known) continue;
    const std::pair<const char*, std::string> defaults[] = {
        {"path", own}, {"test", "true"}, {"required-features", "[]"}};
    for (const auto& [one, value] : defaults)
      if (key(target, one, value) != key(was, one, value))
        return fmt::format("sets `{}` of the test `{}`, so that it is not built, or is another one", one,
                           name);
  }
  return "";
}

// The plugins of Maven that run tests, and are skipped.
std::int64_t skipped_plugins(std::string_view pom) {
  std::int64_t out = 0;
  for (auto at = pom.find("<plugin>"); at != pom.npos; at = pom.find("<plugin>", at + 1)) {
    const auto plugin = pom.substr(at, pom.find("</plugin>", at) - at);
    if (plugin.find("maven-surefire-plugin") != plugin.npos ||
        plugin.find("maven-failsafe-plugin") != plugin.npos)
      out += times_spread(plugin, "<skip>true", true);
  }
  return out;
}

// Whether words of Gradle name a task of tests: "test", "tasks.withType(Test)", "integrationTest".
bool names_tests(std::string_view text) {
  std::string word;
  const auto is_test = [&] { return word == "check" || word.ends_with("test"); };
  for (const char c : text) {
    if (is_word(c))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (is_test())
      return true;
    else
      word.clear();
  }
  return is_test();
}

// Reads a build file of Gradle block by block. A task is only switched off by a line of its own block.
class GradleBlocks {
 public:
  std::int64_t switched_off(std::string_view text) {
    for (const char c : text) {
      if (c == '{')
        open();
      else if (c == '}')
        close();
      else if (c == '\n' || c == ';')
        end_line();
      else if (!is_between(c))
        line_ += c;
      else if (c != '\'' && c != '"' && !line_.empty() && line_.back() != ' ')
        line_ += ' ';
    }
    return count_;
  }

 private:
  struct Block {
    bool of_tests = false, is_condition = false;
    std::string last;  // its last line
  };

  // Whether `ending` ends the line, and the text before it names a task of tests, or is empty in its block.
  bool sets(std::string_view line, std::string_view ending) const {
    if (!line.ends_with(ending)) return false;
    const auto owner = line.substr(0, line.size() - ending.size());
    if (is_any_of(owner, {"", "it.", "this."})) return !blocks_.empty() && blocks_.back().of_tests;
    const auto dot = owner.substr(0, owner.size() - 1);
    return owner.ends_with('.') && names_tests(dot.substr(dot.rfind('.') + 1));
  }
  std::string compact() const {
    std::string out;
    std::ranges::copy_if(line_, std::back_inserter(out), [](char c) { return c != ' '; });
    return out;
  }
  void open() {
    Block block{.of_tests = names_tests(line_), .is_condition = sets(compact(), "onlyIf")};
    blocks_.push_back(std::move(block));
    line_.clear();
  }
  void end_line() {
    const auto line = compact();
    if (line.empty() || line.ends_with('=')) return;  // a value may follow in the next line
    constexpr auto kOff = std::to_array<std::string_view>(
        {"enabled=false", "enabledfalse", "isEnabled=false", "setEnabled(false)", "enabled.set(false)"});
    if (std::ranges::any_of(kOff, [&](auto off) { return sets(line, off); })) ++count_;
    if (!blocks_.empty()) blocks_.back().last = line;
    line_.clear();
  }
  void close() {
    end_line();
    line_.clear();
    if (blocks_.empty()) return;
    if (blocks_.back().is_condition && is_any_of(blocks_.back().last, {"false", "returnfalse"})) ++count_;
    blocks_.pop_back();
  }

  std::vector<Block> blocks_;
  std::string line_;
  std::int64_t count_ = 0;
};

bool is_cmake(std::string_view path) { return name_of(path) == "CMakeLists.txt" || path.ends_with(".cmake"); }
bool is_gradle(std::string_view path) { return path.ends_with(".gradle") || path.ends_with(".gradle.kts"); }

}  // namespace

std::int64_t times_spread(std::string_view content, std::string_view text, bool any_case) {
  const auto lines = without_comments(content);
  std::int64_t out = 0;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!is_same(lines[at], text.front(), any_case) || (at > 0 && is_part_of_word(lines[at - 1]))) continue;
    const auto end = end_of_spread(lines, at, text, any_case);
    const bool ends = end != lines.npos &&
                      (end == lines.size() || !is_part_of_word(text.back()) || !is_part_of_word(lines[end]));
    out += ends ? 1 : 0;
  }
  return out;
}

bool may_switch_off(std::string_view path, const RunTargets& targets) {
  return (targets.runs_cmake && is_cmake(path)) || is_gradle(path) || name_of(path) == "pom.xml" ||
         name_of(path) == "Cargo.toml";
}

std::string switches_off(const FileChange& change, const RunTargets& targets) {
  if (!change.after || change.after->is_link || change.unread || !may_switch_off(change.path, targets))
    return "";
  if (is_cmake(change.path)) return weakened_cmake(change, targets);
  if (name_of(change.path) == "Cargo.toml") return weakened_cargo(change, targets);
  const auto off = [&](std::string_view content) {
    return is_gradle(change.path) ? GradleBlocks().switched_off(without_comments(content))
                                  : skipped_plugins(content);
  };
  return off(change.after->content) > off(before_of(change)) ? "switches tests off" : "";
}

}  // namespace pawl::gates
