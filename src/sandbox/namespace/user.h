// The user of a sandbox's programs. The filter compiler, which is built without the rest of this
// folder, includes it, too.
#pragma once

namespace pawl::sandbox {

inline constexpr unsigned kInsideUid =
    1000;  // and its group. Agents refuse to work as root, and nothing needs it

}  // namespace pawl::sandbox
