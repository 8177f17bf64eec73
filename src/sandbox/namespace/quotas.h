// What the kernel counts by user, across all namespaces, so that a sandbox could take it from everything else
// that its user runs: each sandbox gets a part.
//
// Two kinds: limits that a user namespace has of its own (namespaces(7), /proc/sys/user), written by the init
// before the command starts, and limits of processes (setrlimit(2)), set by the command.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::sandbox {

// A sandbox takes an eighth of what its user may have: seven can run beside each other, and some is left.
inline constexpr std::int64_t kQuotaPart = 8;

struct NamespaceQuota {
  std::string file;  // below /proc/sys/user
  std::int64_t most = 0;
};
// By what this host gives a user now. Without those that its kernel does not have.
std::vector<NamespaceQuota> namespace_quotas();

struct ProcessQuota {
  __rlimit_resource resource;
  rlim_t part, most;  // that part of what its user may have, and never more than `most`
};
inline constexpr ProcessQuota kProcessQuotas[] = {
    {RLIMIT_SIGPENDING, kQuotaPart, 4096},  // queued signals and POSIX timers
    // Two queues as mq_open(3) makes them by default take 160 KiB.
    {RLIMIT_MSGQUEUE, 4, 200 << 10},
};

}  // namespace pawl::sandbox
