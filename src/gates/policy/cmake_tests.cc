#include "gates/policy/cmake_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "gates/policy/cmake_commands.h"
#include "gates/policy/runner_options.h"
#include "gates/policy/script_text.h"
#include "gates/policy/unheard.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using CmakeWords = std::vector<std::string>;
using Commands = std::vector<CmakeCommand>;

// Properties by which a test does not run, or counts as skipped. cmake-properties(7)
constexpr auto kSkips =
    std::to_array<std::string_view>({"DISABLED", "SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE"});
// Commands whose words are definitions or flags of a compiler.
constexpr auto kFlagCommands = std::to_array<std::string_view>(
    {"add_compile_definitions", "add_compile_options", "add_definitions", "set_property",
     "set_target_properties", "target_compile_definitions", "target_compile_options"});

// The words after NAME and COMMAND of add_test(), or the first word and the others.
struct Test {
  std::string name;
  CmakeWords command;
};
Test test_of(const CmakeCommand& command) {
  const auto& words = command.words;
  if (words.empty()) return {};
  if (words[0] != "NAME") return {words[0], {words.begin() + 1, words.end()}};
  Test out{.name = words.size() > 1 ? words[1] : ""};
  auto word = std::ranges::find(words, "COMMAND");
  for (word += word == words.end() ? 0 : 1; word != words.end(); ++word) {
    if (is_any_of(*word, {"COMMAND_EXPAND_LISTS", "CONFIGURATIONS", "WORKING_DIRECTORY"})) break;
    out.command.push_back(*word);
  }
  return out;
}

std::map<std::string, CmakeWords> tests_of(const Commands& commands) {
  std::map<std::string, CmakeWords> out;
  for (const auto& each : commands)
    if (each.name == "add_test")
      if (auto test = test_of(each); !test.name.empty()) out[test.name] = std::move(test.command);
  return out;
}

// The values of variables that a file sets to words.
std::map<std::string, CmakeWords> variables_of(const Commands& commands) {
  std::map<std::string, CmakeWords> out;
  for (const auto& each : commands) {
    const auto& words = each.words;
    if (each.name == "set" && !words.empty())
      out[words[0]].insert(out[words[0]].end(), words.begin() + 1, words.end());
    if (each.name == "list" && words.size() > 1 && words[0] == "APPEND")
      out[words[1]].insert(out[words[1]].end(), words.begin() + 2, words.end());
  }
  return out;
}

// The sources of the targets of a file. "*" stands for those that can't be known.
std::map<std::string, std::set<std::string>> sources_of(const Commands& commands) {
  std::map<std::string, std::set<std::string>> out;
  const auto variables = variables_of(commands);
  for (const auto& each : commands) {
    if (!is_any_of(each.name, {"add_executable", "add_library", "target_sources"}) || each.words.empty())
      continue;
    auto& sources = out[each.words[0]];
    for (auto word = each.words.begin() + 1; word != each.words.end(); ++word) {
      if (word->find('$') == word->npos) {
        sources.insert(*word);
        continue;
      }
      const auto name =
          word->starts_with("${") && word->ends_with('}') ? word->substr(2, word->size() - 3) : "";
      const auto value = variables.find(name);
      if (value == variables.end())
        sources.insert("*");
      else
        for (const auto& one : value->second) sources.insert(one.find('$') == one.npos ? one : "*");
    }
  }
  return out;
}

// Whether a command of a test runs no program of the project: "true", "cmake -E echo".
bool is_idle_command(const CmakeWords& command) {
  std::string text;
  std::vector<std::string_view> names;
  for (const auto& word : command) {
    if (!option_in(idle_options(), word, "", names).empty()) return true;
    if (!word.starts_with('-')) names.push_back(word);
    text += word + " ";
  }
  const auto mode = std::ranges::find(command, "-E");
  const bool is_cmake = !command.empty() && (command[0].find("CMAKE_COMMAND") != std::string::npos ||
                                             name_of(command[0]) == "cmake");
  if (is_cmake && mode != command.end() && mode + 1 != command.end())
    return !is_any_of(*(mode + 1), {"chdir", "compare_files", "env", "false", "time"});
  return runs_nothing(text);
}

std::string choice_in(const CmakeWords& command) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const auto value = i + 1 < command.size() ? std::string_view(command[i + 1]) : std::string_view();
    if (!option_in(choosing_options(), command[i], value, names).empty()) return command[i];
    if (!command[i].starts_with('-')) names.push_back(name_of(command[i]));
  }
  return "";
}

class CmakeComparison {
 public:
  CmakeComparison(std::string_view before, std::string_view after,
                  const std::function<bool(const std::string&)>& stays)
      : CmakeComparison(cmake_commands(before), cmake_commands(after), stays) {}

  std::string words() const {
    if (is_cut_) return "is too large to be read for what it runs";
    for (const auto& [name, command] : tests_)
      if (const auto now = tests_now_.find(name); now != tests_now_.end() && now->second != command)
        if (auto why = changed(command, now->second); !why.empty())
          return fmt::format("has the test `{}` {}", name, why);
    for (auto why : {lost_source(), defines_ndebug()})
      if (!why.empty()) return why;
    return "";
  }

 private:
  CmakeComparison(CmakeFile before, CmakeFile after, const std::function<bool(const std::string&)>& stays)
      : is_cut_(after.is_cut && !before.is_cut),
        before_(std::move(before.commands)),
        after_(std::move(after.commands)),
        stays_(stays) {}

  std::string changed(const CmakeWords& old, const CmakeWords& now) const {
    if (is_idle_command(now) && !is_idle_command(old)) return "run no program that can fail";
    if (const auto choice = choice_in(now); !choice.empty() && choice_in(old) != choice)
      return fmt::format("run with `{}`, which decides what it checks", choice);
    std::string text, text_now;
    for (const auto& word : old) text += word + " ";
    for (const auto& word : now) text_now += word + " ";
    if (unheard_runner(text).empty() && !unheard_runner(text_now).empty()) return unheard_runner(text_now);
    // A program that still is one of the project, and that no test runs.
    const auto& program = old.empty() ? std::string() : old[0];
    const bool is_run = std::ranges::any_of(tests_now_, [&](const auto& each) {
      return std::ranges::find(each.second, program) != each.second.end() ||
             std::ranges::find(each.second, "$<TARGET_FILE:" + program + ">") != each.second.end();
    });
    return !is_run && sources_now_.contains(program) && sources_.contains(program)
               ? fmt::format("run `{}` in place of `{}`", now.empty() ? "" : now[0], program)
               : "";
  }

  // A source of a program that a test runs.
  std::string lost_source() const {
    for (const auto& [target, sources] : sources_) {
      const auto now = sources_now_.find(target);
      const bool is_known = now == sources_now_.end() ? !moves() : !now->second.contains("*");
      if (!is_known || !is_tested(target)) continue;
      for (const auto& source : sources) {
        const bool is_elsewhere =
            std::ranges::any_of(sources_now_, [&](const auto& each) { return each.second.contains(source); });
        if (source != "*" && source.find('.') != source.npos && !is_elsewhere && stays_ && stays_(source))
          return fmt::format("leaves `{}` out of `{}`, which a test runs", source, target);
      }
    }
    return "";
  }

  // Whether a target may be in another file now, or under a name that is not known.
  bool moves() const {
    const auto count = [](const Commands& in) {
      return std::ranges::count_if(in, [](const auto& each) {
        return is_any_of(each.name, {"add_subdirectory", "foreach", "function", "include", "macro"});
      });
    };
    return count(after_) > count(before_) ||
           std::ranges::any_of(sources_now_, [](const auto& each) { return each.second.contains("*"); });
  }

  bool is_tested(const std::string& target) const {
    for (const auto& [name, command] : tests_)
      if (std::ranges::any_of(command, [&](const auto& word) { return word.find(target) != word.npos; }))
        return true;
    return std::ranges::any_of(before_, [&](const auto& each) {
      return each.name.ends_with("discover_tests") && !each.words.empty() && each.words[0] == target;
    });
  }

  // Flags of a release build alone are free.
  static bool turns_assert_off(const CmakeCommand& each) {
    const bool sets_flags = !each.words.empty() && is_any_of(each.name, {"list", "set", "string"}) &&
                            std::ranges::any_of(each.words, [&](const auto& word) {
                              return word.find("_FLAGS") != word.npos && !names_release(word);
                            });
    if ((!sets_flags && std::ranges::find(kFlagCommands, each.name) == kFlagCommands.end()) ||
        each.is_of_release)
      return false;
    return std::ranges::any_of(each.words, [](const auto& word) {
      const auto at = word.find("NDEBUG");
      if (at == word.npos || word.find("$<") != word.npos) return false;
      return at == 0 || (at > 1 && word[at - 1] == 'D' && (word[at - 2] == '-' || word[at - 2] == '/'));
    });
  }
  std::string defines_ndebug() const {
    const auto count = [](const Commands& in) { return std::ranges::count_if(in, turns_assert_off); };
    return count(after_) > count(before_) ? "defines `NDEBUG`, with which assert() checks nothing" : "";
  }

  const bool is_cut_;
  const Commands before_, after_;
  const std::function<bool(const std::string&)>& stays_;
  const std::map<std::string, CmakeWords> tests_ = tests_of(before_), tests_now_ = tests_of(after_);
  const std::map<std::string, std::set<std::string>> sources_ = sources_of(before_),
                                                     sources_now_ = sources_of(after_);
};

// The tests whose properties a command sets: the words before PROPERTIES, or after TEST.
CmakeWords tests_with_properties(const CmakeCommand& command) {
  const auto& words = command.words;
  const auto end = std::ranges::find_if(words, [](const auto& word) {
    return is_any_of(word, {"APPEND", "APPEND_STRING", "DIRECTORY", "PROPERTIES", "PROPERTY"});
  });
  if (command.name == "set_tests_properties") return {words.begin(), end};
  if (command.name == "set_property" && !words.empty() && words[0] == "TEST") return {words.begin() + 1, end};
  return {};
}

}  // namespace

std::string weakened_cmake_tests(std::string_view before, std::string_view after,
                                 const std::function<bool(const std::string&)>& stays) {
  if (auto why = CmakeComparison(before, after, stays).words(); !why.empty()) return why;
  // Counts the properties that are switched on.
  const auto skips = [](std::string_view text) {
    std::map<std::string, std::int64_t> out;
    for (const auto& each : cmake_commands(text).commands)
      if (const auto tests = tests_with_properties(each); !tests.empty())
        for (std::size_t i = 0; i + 1 < each.words.size(); ++i)
          if (std::ranges::find(kSkips, each.words[i]) != kSkips.end() &&
              !is_any_of(each.words[i + 1], {"0", "FALSE", "False", "NO", "OFF", "false", "off", "no"}))
            ++out[each.words[i]];
    return out;
  };
  const auto old = skips(before), now = skips(without_new_properties(before, after));
  for (const auto& [property, count] : now)
    if (const auto known = old.find(property); count > (known == old.end() ? 0 : known->second))
      return fmt::format("adds `{}`, by which a test does not count", property);
  return "";
}

std::string without_new_properties(std::string_view before, std::string_view after) {
  // A test of the same name, in whatever place, is not new.
  std::set<std::string> old, added;
  for (const auto& each : cmake_commands(before).commands) old.insert(each.words.begin(), each.words.end());
  std::string out(after);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& each : cmake_commands(after).commands) {
    if (each.name == "add_test" && each.is_sure) added.insert(test_of(each).name);
    const auto tests = tests_with_properties(each);
    const bool is_new = !tests.empty() && std::ranges::all_of(tests, [&](const auto& test) {
      return added.contains(test) && !old.contains(test) && test.find('$') == test.npos;
    });
    if (is_new) places.emplace_back(each.begin, each.end);
  }
  for (const auto& [begin, end] : places)
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
              out.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  return out;
}

}  // namespace pawl::gates
