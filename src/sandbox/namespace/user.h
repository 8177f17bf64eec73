// Who a sandbox's program is. Also for the compiler of the filter, which is built without the room.
#pragma once

namespace pawl::sandbox {

inline constexpr unsigned kInsideUid =
    1000;  // and its group. Agents refuse to work as root, and nothing needs it

}  // namespace pawl::sandbox
