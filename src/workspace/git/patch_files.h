// Files of a patch as `git apply` compares them with a work tree. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "workspace/git/patch.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// The same paths on both sides.
struct PatchFiles {
  GitFiles before, after;
};

// Puts what git commits in the place of files of which it commits something else than line ends make of them
// (Git LFS, `ident`). `tree` is what the patch is made for; `scratch`, an empty folder, outlives `files`.
// Tells for which paths that can't be done: neither side has them then.
Result<std::vector<Patch::LeftOut>> put_committed(const PatchTarget::Filters& filters, const View& tree,
                                                  const std::string& scratch, PatchFiles& files);

}  // namespace pawl::workspace
