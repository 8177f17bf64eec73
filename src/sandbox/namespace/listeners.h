// The sockets inside a network namespace on which the supervisor listens. They are the only way out of it.
#pragma once

#include <vector>

#include "sandbox/outlet.h"

namespace pawl::sandbox {

// Makes the addresses local. Allocates no memory (child.h). False with errno. REQUIRES: the caller is in the
// namespace, with CAP_NET_ADMIN.
bool add_addresses(const std::vector<Listener>& listeners);
// Returns a bound socket, which also listens unless it is a datagram socket; -1 with errno.
int open_listener(const Listener& listener);

}  // namespace pawl::sandbox
