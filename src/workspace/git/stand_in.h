// A repository that Pawl makes in place of a repository that libgit2 can't read: with SHA-256, with reftables, or with
// extensions newer than libgit2. The stand-in has the other's work tree and attributes, without objects, references
// and an index. These are enough for `git apply` to filter files. A detail of this room.
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
