// Parses plan.yaml into a Plan. With plan.h this is the public interface of the room.
//
// Every problem has file, line and column (from 1), says what is expected, and names the nearest valid word.
// Values that only a later version implements are refused by name ("not available yet"), never ignored. The
// input may be hostile: size, depth, aliases and the number of nodes are bounded before any node is built.
#pragma once

#include <cstdint>
#include <functional>
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
  std::int64_t line = 0;  // 0: the problem concerns the file as a whole
  std::int64_t column = 0;
  std::string message;
};

// Formats "file:line:column: message", which editors can follow; "file: message" when line is 0.
std::string to_text(const Problem& problem);

struct Parsed {
  std::optional<Plan> plan;       // present exactly when `problems` is empty
  std::vector<Problem> problems;  // in the order of the file
  std::vector<Problem> warnings;
  Place source_at, git_at;  // places of `source` and `git` in the plan
};

// A user's own profile (profile.h): its file and its text.
struct ProfileText {
  std::string file, text;
};

// The facts beside its text on which a parsed plan depends.
struct Surroundings {
  bool host_has_bash = true;  // some warnings depend on it
  // Returns a profile that takes precedence over the one that is compiled in; no value: there is none.
  // Optional.
  std::function<Result<std::optional<ProfileText>>(const std::string& name)> own_profile;
};

bool is_name(const std::string& text);           // [A-Za-z0-9][A-Za-z0-9._-]{0,63}
bool is_variable_name(const std::string& text);  // the name of an environment variable, at most 128 bytes

// Parses the text of a plan. Pure: reads no file, and uses `file` only in messages.
Parsed parse(std::string_view text, const std::string& file, const Surroundings& around = {});

}  // namespace pawl::plan
