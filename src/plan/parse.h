// plan.yaml to Plan. The room's door, with plan.h.
//
// Every problem carries file, line and column (from 1), says what was expected, and names the nearest right
// word. Keys that a later version implements are parsed, validated, and refused by name ("not available
// yet"): never ignored. The input is hostile: size, depth, aliases and counts are bounded before anything is
// built.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::plan {

constexpr std::uint64_t kPlanBytesMax = 16 << 20;  // a generated plan of 100,000 phases fits

struct Problem {
  std::string file;
  std::int64_t line = 0;  // 0: about the file as a whole
  std::int64_t column = 0;
  std::string message;
};

// "file:line:column: message", the form that editors follow.
std::string to_text(const Problem& problem);

struct Parsed {
  std::optional<Plan> plan;       // present exactly when there are no problems
  std::vector<Problem> problems;  // in the order of the file
  std::vector<Problem> warnings;
  Place source_at;  // of `source` in the plan
};

// Facts about the host that some warnings depend on.
struct Surroundings {
  bool host_has_bash = true;
};

// Pure: `file` is used in messages only.
Parsed parse(std::string_view text, const std::string& file, const Surroundings& around = {});

}  // namespace pawl::plan
