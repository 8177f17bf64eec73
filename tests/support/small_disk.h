// A file system of a given size, mounted on a new folder.
#pragma once

#include <sys/mount.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "os/file.h"

namespace pawl::testing {

class SmallDisk {
 public:
  SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
    PAWL_CHECK(os::make_folders(path_));
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() { umount(path_.c_str()); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_;
};

}  // namespace pawl::testing
