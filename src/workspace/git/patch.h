// Layers in git's terms: which paths change, from what to what. A detail of this room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workspace/changes.h"
#include "workspace/git/git.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// A file or symlink as git has it: full path of the content on disk. Folders are nothing to git.
struct GitFile {
  std::string full;
  bool is_link = false;
  bool is_executable = false;
};
using GitFiles = std::map<std::string, std::optional<GitFile>>;  // nullopt: gone

// What `changes` do to the files of `base`: a deleted or replaced folder is every file it had.
Result<GitFiles> git_files(const View& base, const Changes& changes);
// What base has at `path`, when it is a file or link.
std::optional<GitFile> git_file_of(const View& base, const std::string& path);

// The name that git gives the content, without a repository.
Result<git_oid> blob_id(const GitFile& file);
git_filemode_t mode_of(const GitFile& file);

}  // namespace pawl::workspace
