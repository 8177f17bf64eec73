// Turns a merged folder of an overlay into a folder that lies in the upper layer alone, so that rename(2) works.
//
// rename(2) fails with EXDEV for a merged folder. overlayfs would have to record where the lower
// part lies, and a mount in a user namespace may not do so (redirect_dir). This code therefore follows the
// kernel's own example, which copies a file up before it renames it.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <climits>
#include <csignal>

namespace pawl::sandbox {

// The progress: the folders that are being replaced, each inside its predecessor.
struct UpperProgress {
  static constexpr int kDepthMax = 256;  // each level takes two descriptors and a buffer
  struct Level {
    char name[NAME_MAX + 1];
    char own_name[40];  // the replacement folder's; "" at first
    bool is_made;       // the replacement folder exists for certain
    bool is_tried;      // and contains the trial entry
    struct stat before;
    char moving[NAME_MAX + 1];  // a folder in it whose mode is changed while it moves; "": none
    mode_t moving_mode;
  };
  std::atomic<int> depth;  // 0 in new memory
  Level levels[kDepthMax];
};

// Whether only the upper layer has `name` in the folder `parent`, known for certain. Takes microseconds.
// overlayfs shows one link for a folder of several layers, because it does not count their entries together.
// A folder of the upper layer alone shows the count of the file system: two or more (btrfs: one, so the
// answer is false). A folder of one lower layer shows its count, too. A change to the owner that it has
// first gives it a part in the upper layer.
bool is_upper_alone(int parent, const char* name);

// Makes `name` in the folder `parent` a folder of the upper layer alone. No effect on a folder that already is. The
// result has the same files, as hard links. The kernel copies them up, so that a process with an open file sees no
// change. Folders keep their modes, times and extended attributes.
//
// Inner folders are replaced first, one by one. A replacement folder with a name of its own lies beside the
// old one. It gets a second name for each file, then the old names and folders, then the old folder's name.
// Meanwhile the content of that folder is out of sight.
//
// Returns 0, or an errno; after an error every entry has its old name. `stop`: gives up with EINTR while that
// needs no undoing. `progress` lies in memory shared with another process. Allocates no memory.
int make_upper_alone(int parent, const char* name, const volatile std::sig_atomic_t& stop,
                     UpperProgress& progress);

// Restores the old names after the process in make_upper_alone() was killed. `parent` is
// the same folder as there.
void undo_upper_alone(int parent, UpperProgress& progress);

}  // namespace pawl::sandbox
