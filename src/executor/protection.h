// Compares protected paths with the source that a run starts from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "workspace/covered.h"

namespace pawl::executor {

// A list of the plan that protects paths. When only phases of later tiers have the list, an earlier tier may make the
// protected files.
struct GuardedList {
  const plan::Guarded* guarded = nullptr;
  bool is_of_later_tiers = false;
};
// All lists of the plan that have a pattern.
std::vector<GuardedList> guarded_of(const plan::Plan& plan);
// The patterns of a list, in its order.
std::vector<std::string> patterns_of(const plan::Guarded& guarded);

// A pattern that matches no file. It is an error when it looks like a mistake: a similar name exists, or no
// pattern of its list matches a file and no earlier tier may make one. Otherwise it is a warning: the pattern may be
// meant to keep files out.
struct Unmatched {
  plan::Place at;
  std::string message;
  bool is_error = false;
};
// `covered`: the result for patterns_of(). Patterns that may be absent are left out.
std::vector<Unmatched> unmatched(const GuardedList& list, std::span<const workspace::Covered> covered);

// Adds to each list the targets of protected links in the base. kInvalid, with the place in `plan_file`: an
// unmatched pattern that is an error. With `plan_file` "" unmatched patterns are accepted.
Status settle_protection(const workspace::Workspaces& workspaces, const std::string& base_id,
                         const std::string& plan_file, plan::Plan& plan);

}  // namespace pawl::executor
