// A folder that is gone with its test.
#pragma once

#include <stdlib.h>

#include <string>
#include <string_view>

#include "os/file.h"

namespace pawl::testing {

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/pawl-test-XXXXXX";
    PAWL_CHECK(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~TempFolder() { static_cast<void>(os::remove_tree(path_)); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return os::join(path_, name); }

 private:
  std::string path_;
};

}  // namespace pawl::testing
