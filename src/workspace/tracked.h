// Whether git has a folder in an index. Only the bytes of the index are read: no untrusted repository is
// opened.
#pragma once

#include <string>

#include "base/error.h"

namespace pawl::workspace {

// The index that has `folder` itself or a file below it, or the .git in `folder`; "" when there is none. All
// work trees around the folder count, also worktrees and submodules, whose .git is a file. Reads indexes of versions
// 2 to 4, also split indexes. Passes over a .git that leads nowhere, and an index that this user may not read.
// `folder` is absolute, without symlinks. kCorrupt: a file is not a valid index.
Result<std::string> index_that_tracks(const std::string& folder);

}  // namespace pawl::workspace
