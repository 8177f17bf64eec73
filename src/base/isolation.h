// Isolation classes: what a sandbox shares with the host, in the words of cost rows and attestations. A backend
// names its class (sandbox/backend.h).
#pragma once

#include <string_view>

namespace pawl {

inline constexpr std::string_view kSharedKernel = "shared_kernel";

}  // namespace pawl
