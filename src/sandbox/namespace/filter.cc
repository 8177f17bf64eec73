#include "sandbox/namespace/filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>

#include "embedded/seccomp_filter.h"

namespace pawl::sandbox {
namespace {

constexpr unsigned kWaitKillable = 1U << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

int install(std::span<const sock_filter> program, unsigned flags) {
  const sock_fprog prog{.len = static_cast<unsigned short>(program.size()),
                        .filter = const_cast<sock_filter*>(program.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog));
}

}  // namespace

bool install_filter() { return install(filter::kList, 0) == 0; }

int install_asking_filter(Asks asks) {
  const std::span<const sock_filter> list =
      asks == Asks::kAll ? std::span<const sock_filter>(filter::kTracedList) : filter::kRenamesList;
  // After the listener has received a call, only death interrupts its caller. A signal handler does not
  // make the call fail with EINTR, which no program expects of rename(2). The flag needs Linux 5.19;
  // older kernels return EINVAL.
  const int listener = install(list, SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable);
  return listener >= 0 || errno != EINVAL ? listener : install(list, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

std::string denied_call_name(int number) {
  for (const auto& call : filter::kDenied)
    if (call.number == number) return call.name;
  return std::to_string(number);
}

int denied_call_error(const seccomp_data& asked) {
  const auto* call = std::ranges::find(filter::kDenied, asked.nr, &filter::DeniedCall::number);
  if (call == std::end(filter::kDenied)) return EPERM;
  // The kernel uses only 32 bits of a family.
  const bool is_known = std::ranges::count(filter::kFamilies, static_cast<unsigned>(asked.args[0])) > 0;
  return call->error == EAFNOSUPPORT && is_known ? EPERM : call->error;
}

}  // namespace pawl::sandbox
