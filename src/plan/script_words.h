// Reads the words of a simple command: its program, whether its failure is one, a shell that it
// starts. Pure. A detail of this room.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/script_tree.h"

namespace pawl::plan {

using PlainWords = std::vector<std::string>;  // without their quotes

std::string plain(std::string_view word);
std::string_view program_of(std::string_view word);  // without its folder
bool is_assignment(std::string_view word);

// A simple command's words behind its assignments, and behind programs that start another one (`env A=1`,
// `timeout 60`).
PlainWords command_words(std::span<const ScriptWord> words);

// The exit code of such a command is the answer to a question, not a failure.
bool asks(const PlainWords& command);
// Such a command only says or sets something: a failure of it is nobody's loss.
bool only_says(const PlainWords& command);
// A failure of such a command inside of `$(...)` shows in what it prints. `emptiness`: only whether it
// printed anything is looked at, and a failure of git looks like a clean tree.
bool shows_failure(const PlainWords& command, bool emptiness);

struct NestedShell {
  std::string name;                        // as it is written
  std::optional<std::string> script;       // nothing: it reads its standard input
  bool errexit = false, pipefail = false;  // options that it is started with
  bool inherits = false;                   // its `$(...)` have -e, too
};
// The shell that these words start with a script of its own, behind whatever starts it.
std::optional<NestedShell> nested_shell(const PlainWords& words);

}  // namespace pawl::plan
