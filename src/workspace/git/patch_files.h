// Files of a patch in the form that `git apply` compares with a work tree. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "workspace/git/patch.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// Both sides have the same paths.
struct PatchFiles {
  GitFiles before, after;
};

// Replaces files by their committed content where it differs in more than line ends (Git LFS, `ident`).
// `tree` is the tree that the patch is for; `scratch`, an empty folder, must outlive `files`. Returns the
// paths where that fails; both sides lose them.
Result<std::vector<Patch::LeftOut>> put_committed(const PatchTarget::Filters& filters, const View& tree,
                                                  const std::string& scratch, PatchFiles& files);

}  // namespace pawl::workspace
