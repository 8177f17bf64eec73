#include "gates/policy/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// docs.pytest.org, "-p name": plugins that are installed, and pytest's own ones.
constexpr auto kPlugins = std::to_array<std::string_view>(
    {"anyio", "asyncio", "benchmark", "cov", "django", "flask", "hypothesis", "mock", "pytester", "randomly",
     "rerunfailures", "sugar", "timeout", "trio", "twisted", "xdist"});
// Variables that no build sets for another reason. bash(1), ld.so(8), docs.pytest.org, docs.npmjs.com
constexpr auto kVariables = std::to_array<std::string_view>(
    {"BASH_ENV", "LD_PRELOAD", "NPM_CONFIG_SCRIPT_SHELL", "PYTEST_PLUGINS", "npm_config_node_options",
     "npm_config_script_shell", "npm_config_userconfig"});

// A tool, its options, and whether they count only with a path of the work as their value.
struct Options {
  std::vector<std::string_view> programs, options;
  bool with_own_path = false;
};
const std::vector<Options>& all_options() {
  static const std::vector<Options> kOptions = {
      {{"pytest", "py.test"}, {"-c", "--config-file", "--confcutdir", "--deselect", "-k"}},
      {{"node"},
       {"--env-file", "--env-file-if-exists", "--test-name-pattern", "--test-only", "--test-skip-pattern"}},
      {{"node"}, {"--test-reporter"}, true},
      {{"mocha"}, {"--fgrep", "--file", "--grep", "-f", "-g"}},
      {{"mocha"}, {"--reporter", "--ui", "-R", "-u"}, true},
      {{"jest", "vitest"}, {"--testNamePattern", "-t"}},
  };
  return kOptions;
}

class SteeringSearch {
 public:
  explicit SteeringSearch(std::string_view command) : words_(words_of_command(command)) {}

  std::set<std::string> find() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      variable();
      const auto name = name_of(words_[at_]);
      const bool is_python = name.starts_with("python");
      if (is_python)
        in_python_ = true;
      else if (in_python_ && words_[at_].starts_with("-O"))
        out_.insert("python -O");
      else if (!words_[at_].starts_with('-'))
        in_python_ = false;
      if (words_[at_].starts_with('-'))
        option();
      else
        programs_.insert(std::string(name));
    }
    return std::move(out_);
  }

 private:
  std::string_view next() const { return at_ + 1 < words_.size() ? words_[at_ + 1] : std::string_view(); }

  // Takes the value of a variable that holds options for them.
  void variable() {
    auto& word = words_[at_];
    const auto sign = word.find('=');
    if (sign == word.npos || word.starts_with('-')) return;
    const auto name = word.substr(0, sign), value = word.substr(sign + 1);
    if (std::ranges::find(kVariables, name) != kVariables.end()) out_.insert(std::string(name));
    if (name == "PYTHONOPTIMIZE" && !is_any_of(value, {"", "0"})) out_.insert(std::string(name));
    if (name == "PYTEST_ADDOPTS") programs_.insert("pytest");
    if (name == "NODE_OPTIONS") programs_.insert("node");
    if (is_any_of(name, {"NODE_OPTIONS", "PYTEST_ADDOPTS"})) word = value;
    const auto option = word.substr(0, word.find('='));
    if (name == "NODE_OPTIONS" && is_any_of(option, {"--import", "--loader", "--require", "-r"}))
      out_.insert(std::string(word));
  }

  void option() {
    const auto word = words_[at_], name = word.substr(0, word.find('='));
    const auto value = name.size() < word.size() ? word.substr(name.size() + 1) : next();
    for (const auto& each : all_options()) {
      const bool runs = std::ranges::any_of(
          each.programs, [&](auto program) { return programs_.contains(std::string(program)); });
      const bool is_own = value.starts_with('.') || value.starts_with('/');
      if (runs && std::ranges::find(each.options, name) != each.options.end() &&
          (is_own || !each.with_own_path))
        out_.insert(fmt::format("{} {}", name, value));
    }
    if (!programs_.contains("pytest") || word.starts_with("--") || !word.starts_with("-p")) return;
    auto plugin = word.substr(2);
    if (plugin.empty()) plugin = next();
    if (plugin.starts_with('=')) plugin.remove_prefix(1);
    if (!plugin.empty() && !is_installed_plugin(plugin)) out_.insert(fmt::format("-p {}", plugin));
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  bool in_python_ = false;  // before the script or module of the interpreter
  std::set<std::string> programs_, out_;
};

}  // namespace

std::set<std::string> steering_in(std::string_view command) { return SteeringSearch(command).find(); }

bool is_installed_plugin(std::string_view name) {
  if (name.starts_with("no:") || name.starts_with("_pytest.")) return true;
  for (const std::string_view start : {"pytest_", "pytest-"})
    if (name.starts_with(start)) name.remove_prefix(start.size());
  if (name.ends_with(".plugin")) name.remove_suffix(7);
  return std::ranges::find(kPlugins, name) != kPlugins.end();
}

}  // namespace pawl::gates
