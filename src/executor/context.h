// What an agent finds around its workspace: the environment that is let through, and the folder /pawl with
// the feedback and the evidence of the attempt before.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"

namespace pawl::executor {

inline const std::string kPatchInside = "/pawl/evidence/previous.patch";
std::string log_inside(const std::string& label);  // /pawl/evidence/<label>.log

// Writes feedback.json and evidence/ of claim.previous into `folder`, which is created. False, and nothing
// written, when there was no attempt before. The same claim gives the same bytes.
Result<bool> write_context(const World& world, const store::Claim& claim, const std::string& folder);

}  // namespace pawl::executor
