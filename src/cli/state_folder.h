// Whether a state folder may be believed: its key signs, its database decides, and gc removes what lies
// below.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pawl::cli {

// Before anything in `folder`, which is there, is read. It was made on this machine by this user: it has a
// mark that says which file it is itself, so that neither a clone nor an archive can bring one (adr/0046).
// One of an older version has none; it is believed when it was there before marks came. kDenied, with what to
// do: it has no mark, was copied, came with a repository, or a part that matters has another owner, is
// writable for others or is a link. What others may read is taken from them; a key that they may read is
// refused.
Status check_state_folder(const std::string& folder);

// Before a database that lies elsewhere is opened; it may be missing. kDenied as above.
Status check_database(const std::string& path);

// The state folders in `folder`, however deep: what is called .pawl, and what has a key to sign with. Never
// through links.
std::vector<std::string> state_folders_below(const std::string& folder);

// After it was checked, or before anything else is made in it, since what a crash leaves without a mark must
// have nothing to believe. Durable when it returns. An older one that can't be written stays as it is.
Status mark_state_folder(const std::string& folder);

}  // namespace pawl::cli
