// The native backend: Linux namespaces, cgroups and rlimits, without a daemon and without setuid programs.
// Backend (sandbox/backend.h) is the contract. The resources of a sandbox are its namespaces and its cgroups:
// execute() removes the cgroups before it returns, end() and clean_up() those that it left. clean_up() also removes
// temporary folders and old views of /etc (etc.h), and takes about 40 us for each cgroup of the machine.
// trace/tracer.h writes the trace.
#pragma once

#include <memory>
#include <string_view>

#include "sandbox/backend.h"

namespace pawl::sandbox {

inline constexpr std::string_view kNamespaceBackend = "namespace";

std::unique_ptr<Backend> make_namespace_backend();

}  // namespace pawl::sandbox
