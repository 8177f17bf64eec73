// Patterns of paths that an attempt may not change, as declared by a plan, a phase or a gate.
#pragma once

#include <string>
#include <vector>

namespace pawl {

struct PathRules {
  std::vector<std::string> protect;           // must not be changed, deleted or added to
  std::vector<std::string> protect_existing;  // must not be changed or deleted; new files are reported

  bool empty() const { return protect.empty() && protect_existing.empty(); }
  bool operator==(const PathRules&) const = default;
};

}  // namespace pawl
