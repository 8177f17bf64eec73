// The mechanisms in degraded mode on this machine, found out without making a sandbox.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/backend.h"

namespace pawl::sandbox {

// Implements Backend::degraded().
std::vector<Mechanism> degraded_mechanisms();

// Names of mechanisms, as in Mechanism::name and Fault::mechanism.
inline constexpr std::string_view kNamespaces = "namespaces", kOverlay = "overlay", kTrace = "trace";
// The replacement of kOverlay.
inline constexpr std::string_view kNoOverlay = "the whole workspace is copied for each step";

// Advice to the user about a mechanism in degraded mode: "" or "; ...".
std::string_view degraded_advice(std::string_view mechanism);

}  // namespace pawl::sandbox
