// What a run started from, against what the repository has committed of it. A detail of this room.
#pragma once

#include <string>
#include <vector>

#include "workspace/git/git_tree.h"
#include "workspace/git/rules.h"

namespace pawl::workspace {

// Every file and link of `base`, by path.
GitFiles files_of_base(const View& base);

// Paths that a submodule owns: those below it, and itself where it would be something else or gone. `listing`
// has the submodules.
std::vector<std::string> changes_of_submodules(const GitListing& listing, const Changes& changes);

struct Uncommitted {
  std::string path, how;
  bool is_sparse = false;  // not there, because the checkout is sparse
};

// Where `base` is not what `committed` would be in a work tree. Ignored files may be there; where a submodule
// is, what it has is compared with the commit that it is at, which is looked for in `source`.
Result<std::vector<Uncommitted>> uncommitted(const GitFiles& base, const GitListing& committed, Rules& rules,
                                             const std::string& source, const std::string& scratch);

}  // namespace pawl::workspace
