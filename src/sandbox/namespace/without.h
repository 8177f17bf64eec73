// What sandboxes of this machine have to do without, found out without making one.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Backend::does_without().
std::vector<Mechanism> namespace_does_without();

// When /workspace is a copy of the tree.
inline constexpr std::string_view kOverlay = "overlay",
                                  kNoOverlay = "the whole workspace is copied for each step";

// What a person can do about a mechanism that is degraded: "" or "; ...".
std::string_view degraded_advice(std::string_view mechanism);

}  // namespace pawl::sandbox
