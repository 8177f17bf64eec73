// Whether a state folder may be believed: its key signs, its database decides, and gc removes what lies
// below.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::cli {

// Before anything in `folder`, which is there, is read. No repository brought it: git's index of no work tree
// around it has files of it, whatever the index's form (workspace/tracked.h). kDenied, with what to do: it is
// tracked, or a part that matters has another owner, is writable for others or is a link. What others may
// read is taken from them; a key that they may read is refused. A copy, or what a person unpacked, is used.
Status check_state_folder(const std::string& folder);

// Before a database that lies elsewhere is opened; it may be missing. kDenied as above.
Status check_database(const std::string& path);

// The state folders in `folder`, however deep: what is called .pawl, and what has a key to sign with. Never
// through links.
std::vector<std::string> state_folders_below(const std::string& folder);

}  // namespace pawl::cli
