// The reasons for which a command ends at a failure: options and settings of its runner, and commands in a row. They
// are looked for in the command, in scripts of package.json, recipes of Makefiles and shell scripts that it runs,
// and in settings files of the runners that these name. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gates/reading/early_stop.h"

namespace pawl::gates {

struct StopSources {
  // The text of the workspace's file at `path`; "" when there is none.
  std::function<std::string(const std::string& path)> text_of;
  // Whether a test that fails keeps other tests of a script, the last word, from running. Null: it does not matter.
  std::function<bool(const std::vector<std::string>& argv)> hides_tests;
  std::function<bool(const std::string& script)> runs_tests;  // REQUIRED with hides_tests
};

// The first stop option of a command (its words, or a script among them). An option or a setting comes before
// commands in a row. A variable of the environment, and a settings file that runs code, can have others. The search
// has bounds, and the result names the bound that it reached first.
StopOption stop_option_behind(const std::vector<std::string>& argv, const StopSources& sources);

// The options after "addopts =" in a settings file of pytest. They may continue in indented lines, in a list, or in
// a string of several lines.
std::string addopts_in(std::string_view text);

}  // namespace pawl::gates
