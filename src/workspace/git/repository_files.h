// Files that each repository has which a step finds at /workspace/.git. A detail of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "os/temporary_folder.h"
#include "workspace/git/pack.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct ParentCommit {
  std::string id;                    // 40 hexadecimal digits.
  std::int64_t seconds_of_unix = 0;  // The time of its committer.
};

// Adds the one commit of Pawl to `pack`, ends the pack, and writes the branch into the folder `git`. The id follows
// from the arguments alone. Without a parent the date is fixed. With a parent it is the parent's date, because `git
// log --since` ends at a commit that is older than the commits below it.
Result<std::string> add_commit(const std::string& tree, const std::optional<ParentCommit>& parent,
                               const std::string& git, PackWriter& pack);
// Makes a layer of `temporary`, which has only tree/.git. Returns the id.
Result<std::string> keep_git_layer(const Workspaces& workspaces, os::TemporaryFolder temporary);

}  // namespace pawl::workspace
