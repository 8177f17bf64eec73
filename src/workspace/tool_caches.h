// Paths that tools make for themselves, and that anybody can make again: nobody takes them from an agent. A
// detail of this room; docs/sources.md has the table.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/tree.h"

namespace pawl::workspace {

// The bytecode or the cache that `path` is or lies in: the shortest part of the path that is one; "" for
// other files. Tools trust it without looking at what it was made of.
std::string_view cache_at(std::string_view path);

// The folder of installed packages that `path` is or lies in, as cache_at() has it.
std::string_view installed_at(std::string_view path);
// Whether such a cache is what a run measured, and a later step of the same gate reads: data of coverage.
// REQUIRES: from cache_at().
bool is_measured(std::string_view cache);

// Folders of the layer `entries`, whose files lie in `tree`, that `lower` does not have and that are built or
// installed: virtual environments, node_modules, build trees.
std::set<std::string> built_folders(const std::vector<Entry>& entries, const std::string& tree,
                                    const View& lower);
// Whether `path` is one of `folders` or lies in one.
bool is_in(const std::set<std::string>& folders, std::string_view path);

}  // namespace pawl::workspace
