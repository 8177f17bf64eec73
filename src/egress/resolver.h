// Resolves names to addresses, outside of the sandbox, by the host's own configuration (/etc/hosts,
// /etc/resolv.conf). c-ares reads it and, unlike getaddrinfo(3), works in a static program.
#pragma once

#include <string>
#include <vector>

#include "base/endpoint.h"

namespace pawl::egress {

// Blocks for `timeout_ms` at most, or until `stop_fd` is readable. kNotFound: the name has no address, or the
// resolver did not answer. kIndeterminate: the resolver does not start. Thread-safe.
Result<std::vector<net::Address>> resolve(const std::string& name, std::int64_t timeout_ms, int stop_fd);

}  // namespace pawl::egress
