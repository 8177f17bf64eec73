// Reads the text of a script, or of one line of a recipe: whether it runs anything, and whether its failure
// can be hidden. A detail of this room.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gates/policy/run_targets.h"

namespace pawl::gates {

constexpr std::size_t kTargetsMax = 1000;  // targets that are followed, and rules that are read
// Bytes of one script or one line of a recipe that are examined.
constexpr std::size_t kCommandBytesMax = 64 << 10;

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words);

// Whether a word of the shell sets a variable: "CI=1".
bool sets_variable(std::string_view word);

std::vector<std::string_view> words_in(std::string_view text);

// The text without the lines that are comments.
std::string without_comments(std::string_view content);

// Whether a command only handles files or processes, or prints a text. Its failure may be ignored.
bool is_housekeeping(std::string_view command);

// Whether each command of a script only prints a text or ends it with success.
bool runs_nothing(std::string_view script);

// Why a script passes although a command of it failed. Honest scripts also have `cd a; make` and
// `run | diff - b`. So a reason that no word of the script asks for only counts when its end hides every
// failure.
std::vector<std::string> hidden_in(const std::string& script, const RunTargets& targets);

// Why a script is weaker than its earlier version; "" when it is not.
std::string weaker(const std::string& before, const std::string& after, const RunTargets& targets);

}  // namespace pawl::gates
