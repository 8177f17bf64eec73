// Decides whether a state folder can be trusted: its key signs, its database decides, and gc removes files
// below it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::executor {

// Call this before a file in `folder` is read. REQUIRES: the folder exists. Accepts a folder that no repository
// brought: no git index of a work tree around it lists its files, whatever the index's form (workspace/tracked.h).
// kDenied, with what to do: git tracks it, or a part that matters has another owner, is writable for others or is a
// link. Read permission of others is removed. A key that others may read is refused. A folder that a person copied or
// unpacked is accepted.
Status check_state_folder(const std::string& folder);

// Call this before a database that lies elsewhere is opened; it may be missing. kDenied as above.
Status check_database(const std::string& path);

// Whether an absolute path is a state folder, or below one: a folder called .pawl, or one with a key to sign
// with.
bool is_in_state_folder(const std::string& path);
// Returns the paths that a sandbox showing `folder` must hide: the state folders in it (also `folder` itself), and
// copies of their keys, at any depth. A copy has the name of a key, is another name of its file, or has its content.
// The keys are also those of .pawl in a folder around, and of the state folder `used`, which may lie elsewhere ("":
// none). Never follows links.
std::vector<std::string> hidden_below(const std::string& folder, const std::string& used);

}  // namespace pawl::executor
