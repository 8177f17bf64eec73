// Whether git has a folder in an index, by the index's bytes: no repository that nobody trusts is opened.
#pragma once

#include <string>

#include "base/error.h"

namespace pawl::workspace {

// The index that has `folder` itself or a file below it, or the .git in it; "" when there is none. Of all
// work trees around it: also of a worktree and of a submodule, whose .git is a file, and of an index of
// versions 2 to 4 or in two parts. A .git that leads nowhere is passed over. `folder` is absolute, without
// symlinks. kCorrupt: an index that is none.
Result<std::string> index_that_tracks(const std::string& folder);

}  // namespace pawl::workspace
