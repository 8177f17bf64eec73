#include "gates/policy/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "gates/policy/runner_options.h"
#include "gates/policy/script_programs.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// docs.pytest.org, "-p name": plugins that are installed, and pytest's own ones.
constexpr auto kPlugins = std::to_array<std::string_view>(
    {"anyio", "asyncio", "benchmark", "cov", "django", "flask", "hypothesis", "mock", "pytester", "randomly",
     "rerunfailures", "sugar", "timeout", "trio", "twisted", "xdist"});
// Variables that no build sets for another reason. bash(1), ld.so(8), make(1), gnu.org/software/automake, Test::Harness,
// doc.rust-lang.org/cargo, insta.rs, google.github.io/googletest
constexpr auto kVariables = std::to_array<std::string_view>({"BASHOPTS",
                                                             "BASH_ENV",
                                                             "CARGO_BUILD_RUSTC_WRAPPER",
                                                             "GTEST_FILTER",
                                                             "GTEST_SHARD_INDEX",
                                                             "HARNESS_PERL",
                                                             "INSTA_UPDATE",
                                                             "INSTA_FORCE_PASS",
                                                             "LD_AUDIT",
                                                             "LD_PRELOAD",
                                                             "LOG_DRIVER",
                                                             "MAKEFILES",
                                                             "PYTEST_PLUGINS",
                                                             "RUSTC_WORKSPACE_WRAPPER",
                                                             "RUSTC_WRAPPER",
                                                             "SHELLOPTS",
                                                             "TEST_LOG_DRIVER",
                                                             "TOX_SKIP_ENV",
                                                             "XFAIL_TESTS",
                                                             "DYLD_INSERT_LIBRARIES"});
// Settings of npm, which it also takes from variables. docs.npmjs.com/cli/v10/using-npm/config
constexpr auto kNpmSettings = std::to_array<std::string_view>(
    {"globalconfig", "if_present", "ignore_scripts", "node_options", "script_shell", "userconfig"});
// Variables with options of a runner, and the words that stand before these options.
struct OptionVariable {
  std::string_view name, program, command = {};
};
constexpr auto kOptionVariables = std::to_array<OptionVariable>({{"CTEST_ARGS", "ctest"},
                                                                 {"GOFLAGS", "go", "test"},
                                                                 {"MAVEN_ARGS", "mvn"},
                                                                 {"NODE_OPTIONS", "node"},
                                                                 {"PYTEST_ADDOPTS", "pytest"},
                                                                 {"SPEC_OPTS", "rspec"}});

bool is_npm_setting(std::string_view variable) {
  std::string name(variable);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  constexpr std::string_view kStart = "npm_config_";
  return name.starts_with(kStart) &&
         std::ranges::find(kNpmSettings, std::string_view(name).substr(kStart.size())) != kNpmSettings.end();
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
        note_program(program_name(words_[at_]));
    }
    return std::move(out_);
  }

 private:
  // A line of an agent may have millions of words, and each option looks at all of these.
  void note_program(std::string_view name) {
    const bool counts = is_named_in(choosing_options(), name);
    if (counts && std::ranges::find(programs_, name) == programs_.end()) programs_.push_back(name);
  }

  std::string_view next() const { return at_ + 1 < words_.size() ? words_[at_ + 1] : std::string_view(); }

  // Takes the value of a variable that holds options for them.
  void variable() {
    auto& word = words_[at_];
    const auto sign = word.find('=');
    if (sign == word.npos || word.starts_with('-')) return;
    const auto name = word.substr(0, sign), value = word.substr(sign + 1);
    if (std::ranges::find(kVariables, name) != kVariables.end() || is_npm_setting(name))
      out_.insert(std::string(name));
    if (name == "PYTHONOPTIMIZE" && !is_any_of(value, {"", "0"})) out_.insert(std::string(name));
    const auto holder = std::ranges::find(kOptionVariables, name, &OptionVariable::name);
    if (holder != kOptionVariables.end()) {
      note_program(holder->program);
      if (!holder->command.empty()) note_program(holder->command);
    }
    // The value goes on as an option: of a runner, or of a compiler.
    if (value.starts_with('-')) word = value;
    const auto option = word.substr(0, word.find('='));
    if (name == "NODE_OPTIONS" && is_any_of(option, {"--import", "--loader", "--require", "-r"}))
      out_.insert(std::string(word));
  }

  void option() {
    const auto word = words_[at_], name = word.substr(0, word.find('='));
    const auto value = name.size() < word.size() ? word.substr(name.size() + 1) : next();
    if (in_python_) return;  // it is the interpreter's
    // It turns assert() of C off.
    if (is_any_of(name, {"-DNDEBUG", "/DNDEBUG"}) || (name == "-D" && next() == "NDEBUG"))
      out_.insert("-DNDEBUG");
    if (const auto found = option_in(choosing_options(), word, value, programs_); !found.empty())
      out_.insert(fmt::format("{} {}", found, found == name ? value : word.substr(found.size())));
    const bool is_pytest = std::ranges::any_of(programs_, [](auto program) {
      return is_any_of(program, {"pytest", "py.test"});
    });
    if (!is_pytest || word.starts_with("--") || !word.starts_with("-p")) return;
    auto plugin = word.substr(2);
    if (plugin.empty()) plugin = next();
    if (plugin.starts_with('=')) plugin.remove_prefix(1);
    if (!plugin.empty() && !is_installed_plugin(plugin)) out_.insert(fmt::format("-p {}", plugin));
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  bool in_python_ = false;                  // before the script or module of the interpreter
  std::vector<std::string_view> programs_;  // the words before that choosing_options() names, once each
  std::set<std::string> out_;
};

}  // namespace

std::set<std::string> steering_in(std::string_view command) { return SteeringSearch(command).find(); }

std::set<std::string> steering_variable(std::string_view name, std::string_view value) {
  const bool is_read =
      name == "PYTHONOPTIMIZE" || is_npm_setting(name) ||
      std::ranges::find(kVariables, name) != kVariables.end() ||
      std::ranges::find(kOptionVariables, name, &OptionVariable::name) != kOptionVariables.end();
  return is_read ? steering_in(fmt::format("{}={}", name, value)) : std::set<std::string>();
}

bool is_installed_plugin(std::string_view name) {
  if (name.starts_with("no:") || name.starts_with("_pytest.")) return true;
  for (const std::string_view start : {"pytest_", "pytest-"})
    if (name.starts_with(start)) name.remove_prefix(start.size());
  if (name.ends_with(".plugin")) name.remove_suffix(7);
  return std::ranges::find(kPlugins, name) != kPlugins.end();
}

}  // namespace pawl::gates
