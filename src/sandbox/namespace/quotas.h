// Resources that the kernel counts by user across all namespaces. A sandbox could take them from everything
// else that its user runs, so each sandbox gets a part.
//
// There are two kinds: limits of a user namespace (namespaces(7), /proc/sys/user), which the init writes
// before the command starts, and limits of processes (setrlimit(2)), which the command sets.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::sandbox {

// A sandbox gets an eighth of its user's amount: seven sandboxes can run at once, and some is left.
inline constexpr std::int64_t kQuotaPart = 8;

struct NamespaceQuota {
  std::string file;  // below /proc/sys/user
  std::int64_t most = 0;
};
// Quotas from the amounts that this host gives a user now. Skips resources that the kernel does not have.
std::vector<NamespaceQuota> namespace_quotas();

struct ProcessQuota {
  __rlimit_resource resource;
  rlim_t part, most;  // that part of the user's amount, and at most `most`
};
inline constexpr ProcessQuota kProcessQuotas[] = {
    {RLIMIT_SIGPENDING, kQuotaPart, 4096},  // queued signals and POSIX timers
    // Two queues with the defaults of mq_open(3) take 160 KiB.
    {RLIMIT_MSGQUEUE, 4, 200 << 10},
};

}  // namespace pawl::sandbox
