// Puts a test program into namespaces of its own, where it may mount.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace pawl::testing {

// Enters namespaces in which an ordinary user may mount, as a sandbox does.
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

// Mounts `folder` again at `to`, where files of user 0 belong to a user outside, as root gives trees to a
// sandbox. `user_namespace`: of a process with that map.
inline void show_with_other_owner(const std::string& folder, const std::string& to, int user_namespace) {
  const int tree =
      static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, folder.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_IDMAP;
  change.userns_fd = static_cast<std::uint64_t>(user_namespace);
  PAWL_CHECK(tree >= 0 && mkdir(to.c_str(), 0755) == 0);
  PAWL_CHECK(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &change, sizeof change) == 0);
  PAWL_CHECK(syscall(SYS_move_mount, tree, "", AT_FDCWD, to.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0);
  close(tree);
}

// Uses memory, without waits for a disk. An overlay's marks need user.* attributes there (Linux 6.6).
inline void use_memory_if_it_has_attributes(const std::string& folder = "/tmp") {
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) != 0) return;
  if (setxattr(folder.c_str(), "user.pawl", "", 0, 0) != 0) PAWL_CHECK(umount(folder.c_str()) == 0);
}

}  // namespace pawl::testing
