// The user outside that is the sandbox's user, and how the files of Pawl's user look like the sandbox's.
//
// As root, the command must not be root outside, so it runs as a user that owns no file. Idmapped mounts
// (mount_setattr(2), Linux 5.12; overlayfs upper layers since 5.19) show the trees of Pawl's user as that
// user's. An ordinary user stays itself, because it cannot map any other without a setuid helper.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "os/file.h"

namespace pawl::sandbox {

struct Identity {
  bool privileged = false;  // may map other ids, and mount for the host
  unsigned outside_uid = 0, outside_gid = 0;
};
Identity sandbox_identity();

// Maps inside::kUid in the new user namespace of `pid`, a child, to `identity` outside.
Status write_id_maps(int pid, const Identity& identity);

// Lets programs of `identity` open the pipe by name: /dev/stdin, /dev/stdout.
void give_pipe(int end, const Identity& identity);

// A user namespace that maps root's files to `identity`. REQUIRES: identity.privileged.
class IdmapNamespace {
 public:
  static Result<std::unique_ptr<IdmapNamespace>> make(const Identity& identity);
  // Waits for the process that held the namespace. Callers that must be fast have used the namespace by then.
  ~IdmapNamespace();
  IdmapNamespace(const IdmapNamespace&) = delete;
  IdmapNamespace& operator=(const IdmapNamespace&) = delete;

  // Returns a detached mount of `path` that shows root's files as files of `identity`.
  Result<os::UniqueFd> clone_tree(const std::string& path) const;

 private:
  IdmapNamespace() = default;
  Status open(const Identity& identity);

  alignas(16) std::array<std::byte, 4096> stack_;  // for the process, which shares our memory
  int parent_ = getpid(), child_ = -1;
  os::UniqueFd namespace_;
};

}  // namespace pawl::sandbox
