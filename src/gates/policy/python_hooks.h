// Hooks by which a conftest.py, or a plugin that it names, decides the result that pytest gives a test. Pure. A
// detail of this folder.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/policy.h"

namespace pawl::gates {

// The files of the workspace that a conftest.py at `path` loads as plugins: by `pytest_plugins`, or by an import of
// all names. A module of the workspace is looked for beside the conftest.py, in the root and below `src`.
std::set<std::string> own_plugins(std::string_view path, std::string_view content,
                                  const std::function<bool(const std::string& path)>& is_there);

// Whether forging_hook() reads a file at `path`.
bool may_have_hooks(std::string_view path, const std::set<std::string>& plugins);

// Why a change of a conftest.py, or of a file of `plugins`, decides the result that pytest gives; "" when it does
// not. `text_at`: the work's text at a path, "" without a file; null: the work is not known.
std::string forging_hook(const FileChange& change, const std::set<std::string>& plugins,
                         const std::function<std::string(const std::string& path)>& text_at);

}  // namespace pawl::gates
