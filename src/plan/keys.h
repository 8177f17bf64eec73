// Names the keys of each mapping of a plan. The parser accepts exactly these keys, and the schemas in docs/ must
// list the same ones. CMakeLists.txt makes the words for formats, signals and usage from files of other rooms.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

// The keys by kind of mapping, such as "plan", "gate" or "policy_file"; keys.cc has all kinds.
const std::map<std::string, std::vector<std::string>>& known_keys();

// The programs whose output reports their use of models: the names of the files in agent/usage.
const std::vector<std::string>& usage_words();

// The kind of signal whose evidence is a report of this format. REQUIRES: one of known_keys().at("reports").
std::string signal_of_format(std::string_view format);

// Maps the name of a test runner or scanner to its report format and the command that writes it. For users
// who name a runner where the plan expects a format. Returns "" for any other name.
std::string_view format_of_runner(std::string_view runner);

// The kinds of signals that a gate can require: the names of the files in gates/signals.
const std::vector<std::string>& signal_words();

}  // namespace pawl::plan
