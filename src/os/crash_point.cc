#include "os/crash_point.h"

#ifdef PAWL_TEST_HOOKS
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>

namespace pawl::os {
namespace {
std::mutex g_role_mutex;
std::string g_role = "executor";  // guarded by g_role_mutex

const char* setting(const char* name) { return std::getenv(name); }

// Appends, and returns the file's size afterwards: an atomic count across processes (O_APPEND in open(2)).
long append_to(const char* file, std::string_view bytes) {
  const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const long size = written ? lseek(fd, 0, SEEK_CUR) : -1;
  close(fd);
  return size;
}
}  // namespace

void set_crash_role(std::string_view role) {
  const std::lock_guard lock(g_role_mutex);
  g_role = role;
}

void crash_point(std::string_view label) {
  std::string role;
  {
    const std::lock_guard lock(g_role_mutex);
    role = g_role;
  }
  if (const char* file = setting("PAWL_CRASH_LOG")) append_to(file, role + " " + std::string(label) + "\n");
  const char* wanted = setting("PAWL_CRASH_ROLE");
  const char* count = setting("PAWL_CRASH_COUNT");
  const char* at = setting("PAWL_CRASH_AT");
  if (wanted == nullptr || count == nullptr || at == nullptr || role != wanted) return;
  if (const char* only = setting("PAWL_CRASH_LABEL"); only != nullptr && label != only) return;
  const char* signal = setting("PAWL_CRASH_SIGNAL");
  if (append_to(count, ".") == std::atol(at)) raise(signal == nullptr ? SIGKILL : std::atoi(signal));
}

}  // namespace pawl::os
#endif
