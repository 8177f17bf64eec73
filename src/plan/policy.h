// A policy file (docs/policy.md) to rules. As strict as parse.h is with a plan, and as hostile its input.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"
#include "plan/parse.h"

namespace pawl::plan {

struct ParsedPolicy {
  std::optional<Policy> policy;  // present exactly when there are no problems
  std::vector<Problem> problems;
};

// Pure: `file` is used in messages only.
ParsedPolicy parse_policy(std::string_view text, const std::string& file);

}  // namespace pawl::plan
