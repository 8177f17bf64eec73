// Decides whether a state folder can be trusted: its key signs, its database decides, and gc removes files
// below it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::executor {

// Call this before any file in `folder`, which exists, is read. Accepts a folder that no repository brought:
// no git index of a work tree around it lists its files, whatever the index's form (workspace/tracked.h).
// kDenied, with what to do: git tracks it, or a part that matters has another owner, is writable for others
// or is a link. Read permission of others is removed. A key that others may read is refused. A copy, or a
// folder that a person unpacked, is accepted.
Status check_state_folder(const std::string& folder);

// Call this before a database that lies elsewhere is opened; it may be missing. kDenied as above.
Status check_database(const std::string& path);

// Whether an absolute path is a state folder, or below one: a folder called .pawl, or one with a key to sign
// with.
bool is_in_state_folder(const std::string& path);
// Returns what a sandbox that shows `folder` must hide: the state folders in it (also itself), and copies of
// keys, at any depth. A copy has the name of a key, or is another name of the file of one, or has the same content:
// of these state folders, of the .pawl of a folder around, or of `used`, which may lie elsewhere ("": none).
// Never follows links.
std::vector<std::string> hidden_below(const std::string& folder, const std::string& used);

}  // namespace pawl::executor
