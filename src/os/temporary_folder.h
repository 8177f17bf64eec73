// Folders that live as long as their process, and the removal of those that a killed process left.
#pragma once

#include <functional>
#include <string>

#include "os/file.h"

namespace pawl::os {

// A private folder, removed by the destructor. A flock(2) on the folder itself shows that its creator lives,
// also after the folder was renamed.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(const std::string& stem);  // "<stem>.XXXXXX"
  TemporaryFolder(TemporaryFolder&&) noexcept = default;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  int lock_fd() const { return lock_.get(); }  // an inherited copy also prevents the sweep
  // The caller renamed the folder: it stays.
  void release() { lock_.reset(); }

 private:
  TemporaryFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

// "pawl-sandbox" in TMPDIR. Without TMPDIR in /var/tmp, which is on a disk even where /tmp is in memory, or
// in /tmp.
std::string temporary_stem();
// Removes this user's folders of that stem whose creators have died. Ends as soon as `should_stop` says so; the
// next call removes the rest.
void sweep_temporary_folders(const std::string& stem, const std::function<bool()>& should_stop = {});
// Whether `path` is a folder whose creator lives.
bool is_in_use(const std::string& path);

}  // namespace pawl::os
