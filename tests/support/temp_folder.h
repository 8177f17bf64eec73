// A folder that is removed at the end of its test.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "os/file.h"

namespace pawl::testing {

class TempFolder {
 public:
  // /var/tmp is on a disk, while /tmp may be in memory.
  explicit TempFolder(const std::string& where = usual()) : path_(os::join(where, "pawl-test-XXXXXX")) {
    PAWL_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TempFolder() { static_cast<void>(os::remove_tree(path_)); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return os::join(path_, name); }

 private:
  static std::string usual() {
    const char* asked = getenv("TMPDIR");
    return asked == nullptr ? "/tmp" : asked;
  }

  std::string path_;
};

// Makes `levels` nested folders named "d", deeper than any path can name.
inline void nest_folders(const std::string& top, int levels) {
  os::UniqueFd at(open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    PAWL_CHECK(mkdirat(at.get(), "d", 0755) == 0);
    at = os::UniqueFd(openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
}

}  // namespace pawl::testing
