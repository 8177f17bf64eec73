// Paths that an attempt may not change, as patterns: what a plan, a phase and a gate say of them.
#pragma once

#include <string>
#include <vector>

namespace pawl {

struct PathRules {
  std::vector<std::string> protect;           // neither changed nor deleted, and nothing is added
  std::vector<std::string> protect_existing;  // neither changed nor deleted; new files are told

  bool empty() const { return protect.empty() && protect_existing.empty(); }
  bool operator==(const PathRules&) const = default;
};

}  // namespace pawl
