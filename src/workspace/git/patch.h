// Contents and modes of files in git's terms. A detail of this room.
#pragma once

#include <string>

#include "workspace/changed_files.h"
#include "workspace/git/git.h"

namespace pawl::workspace {

// The id that git gives the content, without a repository.
Result<git_oid> blob_id(const GitFile& file);
git_filemode_t mode_of(const GitFile& file);

}  // namespace pawl::workspace
