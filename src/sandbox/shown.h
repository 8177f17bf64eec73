// Decides whether a user may show a file or folder of the host in a sandbox. Reads the host.
#pragma once

#include <string>

#include "base/error.h"

namespace pawl::sandbox {

// The most entries of a folder that is shown. Toolchains have ten to fifty thousand, and each is looked at.
inline constexpr int kShownEntriesMax = 100'000;

// Whether a user may show this path of the host in a sandbox. The check follows links and judges the real
// path. kInvalid with the reason: a home folder, keys (.ssh, .gnupg, ...), a state folder or a part of one,
// sockets, /run, /proc, /sys and /dev. Also kInvalid: a folder that contains such a path, or that is too large to
// search. kNotFound: the path does not exist. Thread-safe.
Status check_shown(const std::string& path);

}  // namespace pawl::sandbox
