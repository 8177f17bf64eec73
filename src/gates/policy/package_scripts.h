// The scripts of package.json that a gate runs by name. Pure. A detail of this room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/run_targets.h"

namespace pawl::gates {

using Scripts = std::map<std::string, std::string, std::less<>>;

// The scripts of a package.json, by name, read as Node.js reads them: all numbers and depths are accepted, and
// the last of two equal keys counts. nullopt when the text is not an object of JSON.
std::optional<Scripts> scripts_of(std::string_view text);

// How a changed or deleted package.json weakens the scripts that a gate runs, in words; "" when it does not.
std::string weakened_scripts(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
