// Compares protected paths with the source that a run starts from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "workspace/covered.h"

namespace pawl::executor {

// Everything in the plan that protects paths.
std::vector<const plan::Guarded*> guarded_of(const plan::Plan& plan);
// Its patterns, in the order of their lists.
std::vector<std::string> patterns_of(const plan::Guarded& guarded);

// A pattern that matches no file. It is an error when it looks like a mistake: a similar name exists, or no
// pattern of its list matches a file. Otherwise the pattern may be meant to keep files out; then it is a
// warning.
struct Unmatched {
  plan::Place at;
  std::string message;
  bool is_error = false;
};
// `covered`: the result for patterns_of(guarded). Patterns that may be absent are left out.
std::vector<Unmatched> unmatched(const plan::Guarded& guarded, std::span<const workspace::Covered> covered);

// Adds to each list the targets of protected links in the base. kInvalid, with the place in `plan_file`: a
// pattern that is unmatched by mistake. With `plan_file` "" unmatched patterns are accepted.
Status settle_protection(const workspace::Workspaces& workspaces, const std::string& base_id,
                         const std::string& plan_file, plan::Plan& plan);

}  // namespace pawl::executor
