// Layers in git's terms: the changed files and links, each before and after. Needs no libgit2. A detail of this
// room.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "workspace/changes.h"
#include "workspace/tree.h"

namespace pawl::workspace {

// A file or symlink as git sees it: the full path of the content on disk. git has no folders.
struct GitFile {
  std::string full;
  bool is_link = false;
  bool is_executable = false;
};
using GitFiles = std::map<std::string, std::optional<GitFile>>;  // nullopt: deleted.

// The effect of `changes` on the files of `base`. A deleted or replaced folder counts as all its files.
// Each change is dropped when its files are known, so that the files of a large work are not in memory twice.
Result<GitFiles> git_files(const View& base, Changes changes);
// The file or link of `base` at `path`; nullopt for all else.
std::optional<GitFile> git_file_of(const View& base, const std::string& path);
// Compares like git: type, the bit of execution, and content. Other permission bits and times are not a change.
Result<bool> same_file(const GitFile& one, const GitFile& other);

}  // namespace pawl::workspace
