// The place where Git LFS stores the contents that its pointers name; see git-lfs-config(5). A detail of this
// room.
#pragma once

#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"

namespace pawl::workspace {

// The folder that `lfs.storage` names. REQUIRES: Rules::open() was called, which gives the repository the
// settings of included files.
std::string lfs_storage(const FoundRepository& found);

// Stores the content of `file` as git-lfs-clean(1) does, durably. `git lfs push` and git's filters find it
// there. `pointer` names it.
Status keep_lfs(const std::string& storage, const GitFile& file, const std::string& pointer);

}  // namespace pawl::workspace
