// The user of a sandbox's programs. The filter compiler, which is built without the rest of this
// folder, includes it, too.
#pragma once

namespace pawl::sandbox {

// The user id and the group id. Agents refuse to work as root, and no program needs root.
inline constexpr unsigned kInsideUid = 1000;

}  // namespace pawl::sandbox
