// Files of the source at new paths whose names would leave them out. If they were left out, an agent that renames a
// folder would delete committed files. A detail of this room.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// How an entry of a layer counts. All but work is left out.
enum class Counts { kAsWork, kAsCache, kAsBuilt, kAsIgnored };

// How a file of the lower trees counts.
enum class Was {
  kNoWork,
  kWork,
  kForced,  // Work although a rule ignores its name: `git add -f`.
};
using WasOf = std::function<Result<Was>(const std::string& path)>;

// Sets `counts` to work for the files and links that the layer only moves: `lower` has the same type and content as
// work at a path that the layer deletes. An agent has no gain: the bytes are the source's.
//   a cache    its path is the same from the name of the cache on, and lies in a folder that `lower` does not
//              have. Tools trust a cache, so no folder of the source gets another folder's cache.
//   built      its path is the same from node_modules on, or it has its name and was in a built folder.
//              A package that replaces a vendored copy is not moved.
//   ignored    it has its name. Where a rule ignored the old name, the same suffix is enough, as for
//              `git mv a.jar b.jar`. Where none did, the layer has the content at no other path.
// Returns the moves that it does not take, sorted: a file with the name of a deleted one, by the rules above
// but for the content. The layer has the content of the deleted file at no other path.
// REQUIRES: `counts` has one element for each of `entries`.
Result<std::vector<LostMove>> keep_moved(const std::vector<Entry>& entries, const View& lower,
                                         const WasOf& was_of, std::vector<Counts>& counts);

}  // namespace pawl::workspace
