// Finds a command that fetches packages from a network. Pure. Internal to this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pawl::plan {

struct Fetches {
  std::string command;  // "npm ci"
  std::string egress;   // the list for a plan that has the tool's usual registry
};

// The first command of commands_of(argv) that fetches packages. A command with an option that keeps its tool from the
// network (`--offline`, `--no-index`) does not count. No value: there is no such command.
std::optional<Fetches> fetches_by(const std::vector<std::string>& argv);

}  // namespace pawl::plan
