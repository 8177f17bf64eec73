// All commands in the order of `pawl --help`, each with the smallest program that has it (docs/adr/0007). This is
// the only list: each program takes its commands from it. docs/extending.md lists the source, page and tests of a
// command.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

// COMMAND(NAME, PROGRAM): NAME is the word on the command line, and add_NAME() sets it up.
#define PAWL_COMMANDS(COMMAND) \
  COMMAND(run, kEngine)        \
  COMMAND(resume, kEngine)     \
  COMMAND(status, kReader)     \
  COMMAND(inspect, kReader)    \
  COMMAND(report, kEngine)     \
  COMMAND(why, kEngine)        \
  COMMAND(stats, kEngine)      \
  COMMAND(cost, kEngine)       \
  COMMAND(logs, kReader)       \
  COMMAND(diff, kEngine)       \
  COMMAND(gate, kEngine)       \
  COMMAND(apply, kEngine)      \
  COMMAND(verify, kEngine)     \
  COMMAND(attest, kEngine)     \
  COMMAND(check, kEngine)      \
  COMMAND(agents, kEngine)     \
  COMMAND(export, kEngine)     \
  COMMAND(gc, kEngine)         \
  COMMAND(fork, kEngine)       \
  COMMAND(approve, kEngine)    \
  COMMAND(budget, kEngine)     \
  COMMAND(retry, kEngine)      \
  COMMAND(skip, kEngine)       \
  COMMAND(cancel, kEngine)     \
  COMMAND(migrate, kEngine)    \
  COMMAND(sandbox, kFront)     \
  COMMAND(agentd, kEngine)     \
  COMMAND(answer, kEngine)     \
  COMMAND(checkpoint, kFront)

namespace pawl::cli {

enum class Program {
  kFront,   // pawl: for a command that must start in a millisecond, also inside a sandbox
  kReader,  // pawl-reader: for a command that reads, and must start in a millisecond; no libgit2
  kEngine,  // pawl-engine: has every command
};

#define PAWL_DECLARE(name, program) void add_##name(const Command& parent);
PAWL_COMMANDS(PAWL_DECLARE)
#undef PAWL_DECLARE

struct CommandName {
  std::string_view name;
  Program program;
};
#define PAWL_NAME(name, program) CommandName{#name, Program::program},
inline constexpr std::array kCommandNames = {PAWL_COMMANDS(PAWL_NAME)};
#undef PAWL_NAME

// Returns the function that sets up the command. Returns nullptr when program `of` has no command with this name.
// command_of() refers only to the commands of that program, so the program links without the others.
template <Program of>
AddCommand command_of(std::string_view name) {
#define PAWL_FIND(word, program)                                  \
  if constexpr (of == Program::kEngine || of == Program::program) \
    if (name == #word) return add_##word;
  PAWL_COMMANDS(PAWL_FIND)
#undef PAWL_FIND
  return nullptr;
}

template <Program of>
std::vector<AddCommand> commands_of() {
  std::vector<AddCommand> out;
  for (const auto& command : kCommandNames)
    if (const auto add = command_of<of>(command.name); add != nullptr) out.push_back(add);
  return out;
}

}  // namespace pawl::cli
