// The environment that passes from the host into a sandbox. Reads the host.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pawl::sandbox {

// "PATH=...", the same for every caller: bin folders of the host's base, read at most one second ago. It does
// not depend on the caller's PATH, whose folders may be writable by a step or absent inside. Thread-safe.
std::string path_inside();
// path_inside(), and LANG, TZ and `names` of this process's environment. Other names do not pass. A name of
// is_secret_variable() and a value of has_url_credentials() or has_password() never pass (base/private_names.h). Then
// the variables of `set`, which take precedence over LANG and TZ of this process. REQUIRES: `set` has no PATH.
std::vector<std::string> allowed_environment(const std::vector<std::string>& names,
                                             const std::map<std::string, std::string>& set = {});

}  // namespace pawl::sandbox
