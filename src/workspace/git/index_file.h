// git's index as bytes, in the format of gitformat-index(5), version 2. libgit2 is unsuitable: it writes no
// cache of trees, without which git reads all trees of a commit to compare it. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "workspace/git/pack.h"

namespace pawl::workspace {

// The mode of an entry in an index and in a tree.
inline constexpr std::uint32_t kGitFile = 0100644, kGitProgram = 0100755, kGitLink = 0120000,
                               kGitSubmodule = 0160000;

struct IndexItem {
  std::string path;
  std::uint32_t mode = kGitFile;
  ObjectId id{};
  // The file in the work tree has these, cut to 32 bits as git cuts them.
  std::uint32_t size = 0, mtime_s = 0, mtime_ns = 0;
};
using IndexItems = std::vector<IndexItem>;  // Sorted by path.

struct Trees {
  ObjectId root{};
  std::string cache;  // The extension TREE of an index.
};
// Adds all trees of the items to `pack`.
Result<Trees> add_trees(const IndexItems& items, PackWriter& pack);

std::string index_text(const IndexItems& items, std::string_view tree_cache);
// Reads the text of index_text(). kCorrupt: another text.
Result<IndexItems> items_of_index(std::string_view text);

}  // namespace pawl::workspace
