// Parses a policy file (docs/policy.md) into rules. As strict as parse.h; the input may be hostile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/policy.h"
#include "plan/parse.h"

namespace pawl::plan {

struct ParsedPolicy {
  std::optional<Policy> policy;  // present exactly when `problems` is empty
  std::vector<Problem> problems;
};

// Pure: reads no file, and uses `file` only in messages.
ParsedPolicy parse_policy(std::string_view text, const std::string& file);

}  // namespace pawl::plan
