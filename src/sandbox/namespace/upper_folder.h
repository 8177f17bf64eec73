// A folder of an overlay that lower layers have a part in, made one that the upper layer alone has.
//
// rename(2) of the first kind is EXDEV: overlayfs would have to write down where the lower part lies, and a
// mount in a user namespace may not (redirect_dir). So the kernel's own example is followed, which copies a
// file up before it renames it.
#pragma once

#include <csignal>

namespace pawl::sandbox {

// Of `name` in the folder `parent`; nothing when it is of the second kind. The result has the same files
// (hard links that the kernel copies up, so that nothing changes for who has one open) and the modes, times
// and extended attributes of the folders. While the work goes on, a folder of a name of its own lies beside
// it, and near the end the content moves there by pieces; then that folder takes the name.
//
// 0, or an errno, and then all is where it was. `stop`: gives up with EINTR while that costs nothing.
// Allocates nothing.
int make_upper_alone(int parent, const char* name, const volatile std::sig_atomic_t& stop);

}  // namespace pawl::sandbox
