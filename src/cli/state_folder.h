// Whether a state folder may be believed: its key signs, its database decides, and gc removes what lies
// below.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::cli {

// Before anything in `folder`, which is there, is read. It was made on this machine by this user: git brings
// no folder that is empty, and each state folder has one (keys/here). One of an older version has none; it
// gets one when its key is private and git does not track it. kDenied, with what to do: it, or a part that
// matters, has another owner, is writable for others, is a link, or came with a repository. What others may
// read is taken from them.
Status check_state_folder(const std::string& folder);

// The state folders in `folder`, however deep: what is called .pawl, and what has a key to sign with. Never
// through links.
std::vector<std::string> state_folders_below(const std::string& folder);

// After `folder` was made here.
Status mark_state_folder(const std::string& folder);

}  // namespace pawl::cli
