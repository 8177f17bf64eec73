// Paths that tools make for themselves, and that any user can make again. Pawl does not take them from an
// agent. A detail of this room; docs/sources.md has the table.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/tree.h"

namespace pawl::workspace {

// The bytecode or the cache that `path` is or lies in: the shortest part of the path that names it; "" for other
// files. Tools trust a cache without a look at its sources.
std::string_view cache_at(std::string_view path);

// The folder of installed packages that `path` is or lies in; "" for other files.
std::string_view installed_at(std::string_view path);
// Whether a step of a gate measured this cache and a later step of the same gate reads it: coverage data.
// REQUIRES: `cache` is from cache_at().
bool is_measured(std::string_view cache);

// The folders of the layer `entries` that were built or installed, and that `lower` does not have: virtual
// environments, node_modules, build trees. The files of the layer lie in `tree`.
std::set<std::string> built_folders(const std::vector<Entry>& entries, const std::string& tree,
                                    const View& lower);
// Whether a folder above `path` may be built, by the name of a file that it has in the view.
bool is_in_built(const View& view, const std::string& path);
// Whether `path` is in `folders` or lies in one of them.
bool is_in(const std::set<std::string>& folders, std::string_view path);

}  // namespace pawl::workspace
