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

// The first such command that `argv` starts in any case. None with an option by which the tool takes only what
// it has (`--offline`, `--no-index`).
std::optional<Fetches> fetches_by(const std::vector<std::string>& argv);

}  // namespace pawl::plan
