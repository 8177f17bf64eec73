// A repository of ours in place of one that libgit2 can't read: with SHA-256, with reftables, or with
// extensions newer than libgit2. It has the work tree and the attributes of that one, and neither objects,
// references nor an index. `git apply` needs no more of a repository to filter files. A detail of this room.
#pragma once

#include <optional>
#include <string>

#include "workspace/git/git.h"

namespace pawl::workspace {

// The repository that `path` is in, or a stand-in for it in `scratch`, which must outlive it. nullopt: `path` is
// in no work tree.
Result<std::optional<FoundRepository>> repository_or_stand_in(const std::string& path,
                                                              const std::string& scratch);

}  // namespace pawl::workspace
