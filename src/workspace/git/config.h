// git's configuration as git itself reads it, with what its files include. libgit2 asks no condition of an
// include on remotes, none at all of a person's files, and knows no home. A detail of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/git/git.h"

namespace pawl::workspace {

struct Setting {
  std::string name, value;  // such as "core.autocrlf"; a part between two dots is as it is written
};
using Settings = std::vector<Setting>;  // in git's order: the last one of a name holds

// What applies in the repository: of the machine, of the person, of itself. A file that can't be read says
// nothing.
Settings settings_of(git_repository& repository);
// What a file says itself, without what it includes.
Settings own_settings(const std::string& file);

// The last one of that name; "" when there is none.
std::string setting(const Settings& settings, std::string_view name);
bool is_true(const Settings& settings, std::string_view name);

// "~/x" as git understands it.
std::string in_home(const std::string& path);
// git-config(1), XDG_CONFIG_HOME; "" where there is no home.
std::string xdg_folder();

}  // namespace pawl::workspace
