// A test program in namespaces of its own, where it may mount.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/error.h"

namespace pawl::testing {

// Mounts of our own, as an ordinary user has them and as a sandbox makes them.
inline void enter_namespaces() {
  const auto user = std::to_string(geteuid()), group = std::to_string(getegid());
  PAWL_CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
  const auto write = [](const char* path, const std::string& text) {
    FILE* file = std::fopen(path, "we");
    PAWL_CHECK(file != nullptr && std::fputs(text.c_str(), file) >= 0 && std::fclose(file) == 0);
  };
  write("/proc/self/setgroups", "deny");
  write("/proc/self/uid_map", "0 " + user + " 1");
  write("/proc/self/gid_map", "0 " + group + " 1");
}

// In memory, where nothing waits for a disk. An overlay's marks need user.* attributes there (Linux 6.6).
inline void use_memory_if_it_has_attributes() {
  if (mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) != 0) return;
  if (setxattr("/tmp", "user.pawl", "", 0, 0) != 0) PAWL_CHECK(umount("/tmp") == 0);
}

}  // namespace pawl::testing
