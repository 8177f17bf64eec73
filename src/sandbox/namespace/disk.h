// What a sandbox makes the host's disk hold, against its limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::sandbox {

// What a sandbox may write to: where it lies on the host, and where the sandbox sees it. A folder or a file.
struct WritablePath {
  std::string outside, inside;
};

class DiskWatch {
 public:
  // What lies there already is nobody's. `limit` is in bytes.
  DiskWatch(std::vector<WritablePath> paths, std::int64_t limit);

  // Whether what it wrote takes more than the limit, or a file is longer, holes and all. By what is there,
  // not by SIGXFSZ: a program can send that to itself, and who started one that died of it need not say so.
  // Files that have no name any more count too. While some of all that can't be looked at, what the disk has
  // lost since all of it could be counts as well, whoever wrote it. `init` of the sandbox: -1 when nothing
  // lives in it.
  bool is_over(int init);

 private:
  struct Use {
    std::int64_t bytes = 0;    // by what the file system says
    std::int64_t longest = 0;  // of its files
    bool complete = true;      // all of it could be looked at
  };
  class Walk;
  Use use() const;
  std::int64_t free_bytes() const;

  std::vector<WritablePath> paths_;
  std::vector<std::string> inside_;
  std::int64_t limit_;
  Use at_start_;
  // When all could be looked at last: what it took more than at the start, and what was free.
  std::int64_t taken_when_complete_ = 0, free_when_complete_;
};

}  // namespace pawl::sandbox
