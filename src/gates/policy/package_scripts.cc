#include "gates/policy/package_scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/glob.h"
#include "base/json.h"
#include "gates/policy/script_programs.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/policy/steering.h"
#include "gates/policy/unheard.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// The text with 0 in place of each number: the parser refuses numbers that Node.js takes for infinite.
std::string without_numbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\' && at + 1 < text.size()) {
      out += c;
      out += text[++at];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || (!is_digit(c) && c != '-')) {
      out += c;
      continue;
    }
    while (at + 1 < text.size() &&
           (is_digit(text[at + 1]) || is_any_of(text.substr(at + 1, 1), {"+", "-", ".", "e", "E"})))
      ++at;
    out += '0';
  }
  return out;
}

// Takes the scripts from the events of the parser, which has no bound on depth: a tree of values is not made.
class ScriptsReader : public nlohmann::json_sax<Json> {
 public:
  Scripts scripts;

  bool null() override { return value(nullptr); }
  bool boolean(bool) override { return value(nullptr); }
  bool number_integer(std::int64_t) override { return value(nullptr); }
  bool number_unsigned(std::uint64_t) override { return value(nullptr); }
  bool number_float(double, const std::string&) override { return value(nullptr); }
  bool string(std::string& text) override { return value(&text); }
  bool binary(Json::binary_t&) override { return value(nullptr); }
  bool key(std::string& name) override {
    if (depth_ == 1) top_ = name;
    if (depth_ == 2) name_ = name;
    return true;
  }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool value(const std::string* text) {
    if (depth_ == 0) return false;
    if (depth_ == 1 && top_ == "scripts") scripts.clear();  // a later key of that name
    if (depth_ != 2 || !in_scripts_) return true;
    scripts.erase(name_);
    if (text != nullptr) scripts[name_] = *text;
    return true;
  }
  bool open(bool is_object) {
    if (depth_ == 0 && !is_object) return false;
    if (depth_ == 1) in_scripts_ = is_object && top_ == "scripts";
    if (depth_ == 1 && top_ == "scripts") scripts.clear();
    if (depth_ == 2 && in_scripts_) scripts.erase(name_);
    ++depth_;
    return true;
  }
  bool close() {
    if (--depth_ == 1) in_scripts_ = false;
    return true;
  }

  std::size_t depth_ = 0;
  bool in_scripts_ = false;
  std::string top_, name_;
};

constexpr std::size_t kPatternsMax = 16;  // for run-s and its kind: each is compared with all scripts

bool says_success(std::string_view word) { return word.starts_with("-s") || word.starts_with("--success"); }

// The scripts that a command runs by name.
std::vector<std::string> named_in(const std::string& command, const Scripts& scripts) {
  std::vector<std::string> out;
  RunTargets inner;
  inner.add({command});
  for (const auto& name : inner.scripts)
    if (scripts.contains(name)) out.push_back(name);
  auto words = words_of_command(command);
  if (words.empty()) return out;
  if (name_of(words[0]) == "concurrently") {
    // It passes only when each of its scripts did, unless --success says otherwise.
    std::erase_if(words, [](auto word) { return !word.starts_with("npm:") && !says_success(word); });
    if (std::ranges::any_of(words, says_success)) return out;
    for (auto& word : words) word.remove_prefix(4);
  } else if (!is_any_of(name_of(words[0]), {"npm-run-all", "npm-run-all2", "run-p", "run-s"})) {
    return out;
  }
  std::size_t patterns = 0;
  for (const auto word : words) {
    if (word.find('*') == word.npos) {
      if (scripts.contains(word)) out.emplace_back(word);
      continue;
    }
    if (++patterns > kPatternsMax) break;
    for (const auto& [name, script] : scripts)
      if (out.size() < kTargetsMax && glob_matches(word, name)) out.push_back(name);
  }
  return out;
}

// The commands of a script and of the scripts that it runs, with those before and after each.
void add_commands(const Scripts& scripts, const std::string& name, TargetNames& seen,
                  std::vector<std::string>& to) {
  if (!scripts.contains(name) || seen.size() >= kTargetsMax || !seen.insert(name).second) return;
  for (const auto* around : {"pre", "", "post"}) {
    const auto script = scripts.find(around + name);
    if (script == scripts.end()) continue;
    to.emplace_back();  // npm runs each script in the package's folder
    for (auto& command : commands_of(std::string_view(script->second).substr(0, kCommandBytesMax))) {
      if (to.size() > kCommandsMax) return;
      const auto inner = named_in(command, scripts);
      const auto first = to.size();
      for (const auto& each : inner) add_commands(scripts, each, seen, to);
      if (inner.empty()) {
        to.push_back(std::move(command));
        continue;
      }
      // npm puts the words after "--" after the script.
      if (const auto rest = command.find(" -- "); rest != command.npos)
        for (auto at = first; at < to.size(); ++at)
          if (!to[at].empty()) to[at] += command.substr(rest + 3);
    }
  }
}

std::vector<std::string> commands_of_script(const Scripts& scripts, const std::string& name) {
  std::vector<std::string> out;
  TargetNames seen;
  add_commands(scripts, name, seen, out);
  return out;
}

// Whether the text of a new program names what is installed, or a runner whose tests follow.
bool handles_runner(std::string_view text, const std::vector<std::string>& tests) {
  if (text.find("node_modules") != text.npos) return true;
  return std::ranges::any_of(tests, [&](const auto& command) {
    const auto runner = runner_of(command);
    const auto name = runner.substr(0, runner.find(' '));
    return !name.empty() && name != "node" && text.find(name) != text.npos;
  });
}

class ScriptComparison {
 public:
  // `folder`: of the package.json, with its "/".
  ScriptComparison(const Scripts& before, const Scripts& after, const RunTargets& targets, std::string folder)
      : before_(before), after_(after), targets_(targets), folder_(std::move(folder)) {}

  std::string words() {
    todo_.assign(targets_.scripts.begin(), targets_.scripts.end());
    TargetNames seen;
    while (!todo_.empty() && seen.size() < kTargetsMax) {
      const auto name = std::move(todo_.back());
      todo_.pop_back();
      if (!seen.insert(name).second) continue;
      if (auto why = around(name); !why.empty()) return why;
      if (auto why = script(name); !why.empty())
        return fmt::format("script `{}`, which a gate runs, {}", name, why);
    }
    return "";
  }

 private:
  std::string around(const std::string& name) {
    for (const auto* place : {"pre", "post"}) {
      if (before_.contains(place + name)) todo_.push_back(place + name);
      // A name that is not in `scripts` is a command of npm, or one that base does not have.
      if (before_.contains(name) && after_.contains(place + name) && !before_.contains(place + name) &&
          !is_beside_tests(place + name, name))
        return fmt::format("script `{}{}` is new, and runs with `{}`, which a gate runs", place, name, name);
    }
    return "";
  }

  // Whether a script has only linters, compilers, and programs that the work adds: they can do to a test no more than
  // the code that it tests.
  bool is_beside_tests(const std::string& name, const std::string& tests) const {
    const auto commands = commands_of_script(after_, name);
    return std::ranges::all_of(commands, [&](const auto& command) {
      if (is_tool(command)) return true;
      const auto text = new_text(own_program(command));
      return command.find_first_of("<>$") == command.npos && !text.empty() && steering_in(command).empty() &&
             !handles_runner(text, commands_of_script(after_, tests));
    });
  }

  std::string script(const std::string& name) {
    const auto old = before_.find(name), now = after_.find(name);
    if (old == before_.end()) return "";
    if (now == after_.end()) return targets_.scripts.contains(name) ? "is gone" : "";
    if (auto why = weaker(old->second, now->second, targets_); !why.empty()) return why;
    if (auto why = unheard_runner(now->second); !why.empty() && unheard_runner(old->second).empty())
      return why;
    if (now->second.size() > kCommandBytesMax && old->second.size() <= kCommandBytesMax)
      return "is too long to be read for what it runs";
    // The scripts that it runs are a part of its commands.
    if (targets_.scripts.contains(name)) {
      const auto commands = commands_of_script(before_, name),
                 commands_now = commands_of_script(after_, name);
      if (commands_now.size() > kCommandsMax && commands.size() <= kCommandsMax)
        return "has too many commands to be read";
      const Moves moves{.of_tests = may_test(name),
                        .has_gone = [this](const std::string& path) { return has_gone(path); },
                        .in_base = in_folder(targets_.in_base),
                        .in_work = in_folder(targets_.in_work),
                        .new_text = [this](const std::string& path) { return new_text(path); }};
      if (auto why = steered(commands, commands_now, moves); !why.empty()) return why;
    }
    for (const auto& command : commands_of(std::string_view(old->second).substr(0, kCommandBytesMax)))
      for (const auto& inner : named_in(command, before_)) todo_.push_back(inner);
    return "";
  }

  // Whether a script's name leaves open that it runs tests.
  static bool may_test(std::string_view name) {
    return std::ranges::none_of(
               std::to_array<std::string_view>({"build", "bundle", "compile", "format", "lint"}),
               [&](auto word) { return name.find(word) != name.npos; }) ||
           name.find("test") != name.npos;
  }

  bool has_gone(const std::string& path) const {
    if (!targets_.base_text || !targets_.work_text) return false;
    for (const auto* end : {"", ".js", ".mjs", ".cjs", ".ts", "/index.js"}) {
      const auto file = folder_ + path + end;
      if (targets_.base_text(file).empty()) continue;
      return targets_.work_text(file).empty() && !(targets_.is_protected && targets_.is_protected(file));
    }
    return false;
  }

  // The function for paths from the folder of the package.json.
  std::function<bool(const std::string&)> in_folder(
      const std::function<bool(const std::string&)>& has) const {
    if (!has) return nullptr;
    return [this, &has](const std::string& path) { return has(folder_ + path); };
  }

  // The text of a file that the work adds, "" for another one.
  std::string new_text(const std::string& path) const {
    if (path.empty() || !targets_.base_text || !targets_.work_text) return "";
    return targets_.base_text(folder_ + path).empty() ? targets_.work_text(folder_ + path) : "";
  }

  const Scripts &before_, &after_;
  const RunTargets& targets_;
  const std::string folder_;
  std::vector<std::string> todo_;
};

// Whether commands of a gate, or scripts of the root's package.json, may run scripts of the one in a folder.
bool may_be_run(const std::string& folder, const RunTargets& targets) {
  if (folder.empty() || targets.folders.contains(folder) || targets.goes_anywhere || !targets.base_text)
    return true;
  for (const auto* file : {"lerna.json", "nx.json", "pnpm-workspace.yaml", "rush.json", "turbo.json"})
    if (!targets.base_text(file).empty()) return true;
  const auto text = targets.base_text("package.json");
  const auto names = [&](std::string_view word) { return text.find(word) != text.npos; };
  return text.empty() || names(name_of(folder)) || names("workspace") || names("cd ") || names("--prefix") ||
         names("-C ");
}

}  // namespace

std::optional<Scripts> scripts_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ScriptsReader reader;
  if (!Json::sax_parse(without_numbers(valid_utf8(text)), &reader)) return std::nullopt;
  return std::move(reader.scripts);
}

std::string weakened_scripts(const FileChange& change, const RunTargets& targets) {
  if (!change.before || targets.scripts.empty()) return "";
  const auto before = scripts_of(change.before->content);
  if (!before) return "";
  const bool is_asked =
      std::ranges::any_of(targets.scripts, [&](const auto& name) { return before->contains(name); });
  const auto folder =
      change.path.substr(0, change.path.size() - std::min(sizeof("package.json"), change.path.size()));
  if (!change.after)
    return is_asked && (folder.empty() || targets.folders.contains(folder))
               ? "is gone, with a script that a gate runs"
               : "";
  if (!may_be_run(folder, targets)) return "";
  const auto after = scripts_of(change.after->content);
  if (!after) return is_asked ? "is no JSON any more, and has a script that a gate runs" : "";
  return ScriptComparison(*before, *after, targets, folder.empty() ? "" : folder + "/").words();
}

}  // namespace pawl::gates
