// A folder of an overlay that lower layers have a part in, made one that the upper layer alone has.
//
// rename(2) of the first kind is EXDEV: overlayfs would have to write down where the lower part lies, and a
// mount in a user namespace may not (redirect_dir). So the kernel's own example is followed, which copies a
// file up before it renames it.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <climits>
#include <csignal>

namespace pawl::sandbox {

// How far it is: the folders that are being replaced, each in the one before.
struct UpperProgress {
  static constexpr int kDepthMax = 256;  // each level takes two descriptors and a buffer
  struct Level {
    char name[NAME_MAX + 1];
    char own_name[40];  // of the folder that is to replace it; "" at first
    bool is_made;       // that is there, surely
    bool is_tried;      // and has something else in it
    struct stat before;
    char moving[NAME_MAX + 1];  // a folder in it that has another mode while it moves; "": none is
    mode_t moving_mode;
  };
  std::atomic<int> depth;  // 0 in new memory
  Level levels[kDepthMax];
};

// Whether `name` in the folder `parent` is surely of the second kind, found out in microseconds. overlayfs
// shows one link for a folder of several layers, because it does not count what they have together. What the
// upper alone has shows what the file system counts: two and more (btrfs: one, so that nothing is sure). So
// does a folder of one lower layer, but it gets its part in the upper by a change of owner that changes
// nothing.
bool is_upper_alone(int parent, const char* name);

// Of `name` in the folder `parent`; nothing when it is of the second kind. The result has the same files
// (hard links that the kernel copies up, so that nothing changes for who has one open) and the modes, times
// and extended attributes of the folders. Folders in it come first, each by itself: a folder of a name of its
// own lies beside it while it gets a second name for each file, and takes first the old names and folders,
// then the old folder's name. What is in a folder is out of sight for the time of that.
//
// 0, or an errno, and then everything has the name that it had. `stop`: gives up with EINTR while that costs
// nothing. `progress` is in memory that another process shares. Allocates nothing.
int make_upper_alone(int parent, const char* name, const volatile std::sig_atomic_t& stop,
                     UpperProgress& progress);

// After the process that was in there was killed: gives everything the name that it had. `parent` is what
// that one had.
void undo_upper_alone(int parent, UpperProgress& progress);

}  // namespace pawl::sandbox
