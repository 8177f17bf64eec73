// Where Git LFS keeps the contents that its pointers name, git-lfs-config(5). A detail of this room.
#pragma once

#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"

namespace pawl::workspace {

// What `lfs.storage` says; Rules::open() has told the repository what includes say of it.
std::string lfs_storage(git_repository& repository);

// As git-lfs-clean(1) does: `git lfs push` and the filters of git find the content of `file` there. `pointer`
// names it.
Status keep_lfs(const std::string& storage, const GitFile& file, const std::string& pointer);

}  // namespace pawl::workspace
