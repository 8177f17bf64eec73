// The reason why the run of a folder has no commit to build upon.
#pragma once

#include <string>

namespace pawl::workspace {

// A sentence for people about the present state. `source` is in no repository, in a repository without a commit, or
// in an unreadable repository, with libgit2's reason.
std::string why_no_commit(const std::string& source);

}  // namespace pawl::workspace
