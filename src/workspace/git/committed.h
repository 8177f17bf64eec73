// Compares the start state of a run with the commit in the repository. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "workspace/git/git_tree.h"
#include "workspace/git/rules.h"

namespace pawl::workspace {

// Every file and link of `base`, by path.
GitFiles files_of_base(const View& base);

// The changed paths that belong to a submodule: paths below it, and the submodule itself where a change
// replaces or deletes it. `listing` has the submodules.
std::vector<std::string> changes_of_submodules(const GitListing& listing, const Changes& changes);

struct Uncommitted {
  std::string path, how;
  bool is_sparse = false;  // Missing because the checkout is sparse.
};

// Paths where `base` differs from a work tree of `committed`. Ignored files may differ. The entries of a
// submodule are compared with its commit, which is searched in `source`. `scratch` is a folder for temporary
// files.
Result<std::vector<Uncommitted>> uncommitted(const GitFiles& base, const GitListing& committed, Rules& rules,
                                             const std::string& source, const std::string& scratch);

}  // namespace pawl::workspace
