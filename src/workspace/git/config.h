// Reads git's configuration as git does, with included files. libgit2 checks no include condition on remotes,
// checks none in a person's files, and knows no home. A detail of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/git/git.h"

namespace pawl::workspace {

struct Setting {
  std::string name, value;  // Such as "core.autocrlf". A part between two dots is as in the file.
};
using Settings = std::vector<Setting>;  // In git's order: the last setting of a name wins.

// The settings for the repository: from the machine, the person and the repository itself. A file that can't
// be read counts as empty.
Settings settings_of(git_repository& repository);
// The same for a repository that libgit2 can't read.
Settings settings_of(const GitFolder& git);
// The settings of one file, without included files.
Settings own_settings(const std::string& file);

// The last setting of that name; "" when no setting has it.
std::string setting(const Settings& settings, std::string_view name);
bool is_true(const Settings& settings, std::string_view name);

// Expands "~/x" as git does.
std::string in_home(const std::string& path);
// See git-config(1), XDG_CONFIG_HOME. "" when there is no home.
std::string xdg_folder();

}  // namespace pawl::workspace
