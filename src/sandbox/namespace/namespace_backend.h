// The native backend: Linux namespaces, cgroups and rlimits, without a daemon and without setuid programs.
// Backend (sandbox/backend.h) is the contract.
#pragma once

#include <memory>
#include <string_view>

#include "sandbox/backend.h"

namespace pawl::sandbox {

inline constexpr std::string_view kNamespaceBackend = "namespace";

std::unique_ptr<Backend> make_namespace_backend();

}  // namespace pawl::sandbox
