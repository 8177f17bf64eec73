// Folders for as long as a process lives, and what is left of them when it was killed.
#pragma once

#include <string>

#include "os/file.h"

namespace pawl::os {

// Private, gone when destroyed. A flock(2) on the folder itself says that its maker lives.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(const std::string& stem);  // "<stem>.XXXXXX"
  TemporaryFolder(TemporaryFolder&&) noexcept = default;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  int lock_fd() const { return lock_.get(); }  // who has it open, too, keeps the folder from being swept

 private:
  TemporaryFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

// "pawl-sandbox" in TMPDIR, or in /var/tmp, which is on a disk where /tmp may be memory, or in /tmp.
std::string temporary_stem();
// Removes this user's folders of that stem whose makers are dead.
void sweep_temporary_folders(const std::string& stem);

}  // namespace pawl::os
