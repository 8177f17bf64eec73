// Protected paths, held against what a run starts from.
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

// A pattern that matches nothing. An error when it looks like a mistake: a similar name is there, or nothing
// else of its list is. Else it may be meant to keep files out, and is worth a warning.
struct Unmatched {
  plan::Place at;
  std::string message;
  bool is_error = false;
};
// `covered`: of patterns_of(guarded). Without those that may be absent.
std::vector<Unmatched> unmatched(const plan::Guarded& guarded, std::span<const workspace::Covered> covered);

// Adds to each what the links that it protects lead to in the base. kInvalid, with its place in `plan_file`:
// a pattern that is unmatched by mistake. "": nobody asks for that.
Status settle_protection(const workspace::Workspaces& workspaces, const std::string& base_id,
                         const std::string& plan_file, plan::Plan& plan);

}  // namespace pawl::executor
