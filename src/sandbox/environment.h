// The environment that passes from the host into a sandbox. Reads the host.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pawl::sandbox {

// "PATH=...": the bin folders of the host's base, read at most one second ago. Every caller gets the same. The
// caller's own PATH is not read, because a step may be able to write its folders, or they are absent inside.
// Thread-safe.
std::string path_inside();
// The environment of a sandbox, as "NAME=value":
// - path_inside();
// - LANG, TZ and `names`, each with its value in this process's environment, when it has one;
// - the variables of `set`, which replace those of the line before. REQUIRES: `set` has no PATH.
// The host's PATH never passes. Nor does a variable of the host whose name is_secret_variable(), or whose value
// has_url_credentials() or has_password() (base/private_names.h). Thread-safe.
std::vector<std::string> allowed_environment(const std::vector<std::string>& names,
                                             const std::map<std::string, std::string>& set = {});

}  // namespace pawl::sandbox
