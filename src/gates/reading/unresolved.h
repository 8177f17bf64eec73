// Finds the hosts that a step wanted to reach and could not, in the output of package managers and programs
// for the network. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

// As targets of a plan's `egress` ("registry.npmjs.org:443"), at most five, in the order of the output, without
// duplicates. Only hosts of lines that say that a name or a network was not reached. Without hosts that no
// network has: localhost, names without a dot, and names that are reserved for tests (RFC 2606).
std::vector<std::string> unresolved_hosts(std::string_view output);

}  // namespace pawl::gates
