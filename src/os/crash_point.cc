#include "os/crash_point.h"

#ifdef PAWL_TEST_HOOKS
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>

namespace pawl::os {
namespace {
std::mutex g_role_mutex;
std::string g_role = "executor";  // guarded by g_role_mutex
std::atomic<long> g_passed{0};

const char* setting(const char* name) { return std::getenv(name); }
}  // namespace

void set_crash_role(std::string_view role) {
  const std::lock_guard lock(g_role_mutex);
  g_role = role;
  g_passed = 0;
}

void crash_point(std::string_view label) {
  std::string role;
  {
    const std::lock_guard lock(g_role_mutex);
    role = g_role;
  }
  if (const char* file = setting("PAWL_CRASH_LOG")) {
    const std::string line = role + " " + std::string(label) + "\n";
    const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
      [[maybe_unused]] const auto written = write(fd, line.data(), line.size());
      close(fd);
    }
  }
  const char* wanted = setting("PAWL_CRASH_ROLE");
  const char* at = setting("PAWL_CRASH_AT");
  if (wanted == nullptr || at == nullptr || role != wanted) return;
  if (++g_passed != std::atol(at)) return;
  if (const char* once = setting("PAWL_CRASH_ONCE")) {
    const int fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return;
    close(fd);
  }
  raise(SIGKILL);
}

}  // namespace pawl::os
#endif
