// Reads the words of a simple command: its program, whether its failure matters, and a shell that it starts.
// Pure. Internal to this room.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/script_tree.h"

namespace pawl::plan {

using PlainWords = std::vector<std::string>;  // without their quotes

// Removes the quotes of a word, and the backslashes that escape a character.
std::string plain(std::string_view word);
std::string_view program_of(std::string_view word);  // without its folder
bool is_assignment(std::string_view word);

// Returns the words of a simple command without its assignments, and without programs that start another one
// (`env A=1`, `timeout 60`).
PlainWords command_words(std::span<const ScriptWord> words);

// The exit code of such a command answers a question and is not a failure.
bool asks(const PlainWords& command);
// Such a command only prints or sets something, so that its failure loses no result.
bool only_says(const PlainWords& command);
// Whether a failure of such a command inside `$(...)` shows in its output. `emptiness`: the script tests only
// whether there is output. A failed git then looks like a clean tree.
bool shows_failure(const PlainWords& command, bool emptiness);

struct NestedShell {
  std::string name;                        // as written
  std::optional<std::string> script;       // absent: it reads its standard input
  bool errexit = false, pipefail = false;  // options on its command line
  bool inherits = false;                   // its `$(...)` have -e, too
};
// Returns the shell that these words start with its own script, also after programs that start the shell.
std::optional<NestedShell> nested_shell(const PlainWords& words);

}  // namespace pawl::plan
