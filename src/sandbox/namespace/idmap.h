// Who the sandbox's user is outside, and how the user's own files look like the sandbox's.
//
// As root the command must not be root outside, so its user is one that owns nothing; idmapped mounts
// (mount_setattr(2), Linux 5.12; overlayfs upper layers since 5.19) show the trees of Pawl's user as that
// user's. An ordinary user is simply itself: nothing else can be mapped without a setuid helper.
#pragma once

#include <string>

#include "os/file.h"

namespace pawl::sandbox {

struct Identity {
  bool privileged = false;  // may map other ids, and mount for the host
  unsigned outside_uid = 0, outside_gid = 0;
};
Identity sandbox_identity();

// Lets `pid`, a child in a new user namespace, be kInsideUid there and `identity` outside.
Status write_id_maps(int pid, const Identity& identity);

// A user namespace that maps root's files to `identity`. REQUIRES: identity.privileged.
Result<os::UniqueFd> make_idmap_namespace(const Identity& identity);
// A detached mount of `path` that shows files of root as files of that user.
Result<os::UniqueFd> clone_tree_idmapped(const std::string& path, int idmap_namespace);

}  // namespace pawl::sandbox
