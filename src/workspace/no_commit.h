// Why the run of a folder has no commit to build upon.
#pragma once

#include <string>

namespace pawl::workspace {

// A sentence for people, by what is there now: `source` lies in no repository, in one that has no commit, or
// in one that can't be read, with libgit2's reason.
std::string why_no_commit(const std::string& source);

}  // namespace pawl::workspace
