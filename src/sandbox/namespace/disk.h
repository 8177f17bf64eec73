// Measures the disk space that a sandbox takes, against its limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::sandbox {

// A path that a sandbox may write: its place on the host and in the sandbox. A folder or a file.
struct WritablePath {
  std::string outside, inside;
  bool counts_whole = false;  // its files at the start count, too
};

class DiskWatch {
 public:
  // Existing data does not count, but for paths that count whole. `limit` is in bytes.
  DiskWatch(std::vector<WritablePath> paths, std::int64_t limit);

  // Whether the files that the sandbox wrote take more than the limit, or one file is longer than the limit, holes
  // included. The files decide, not SIGXFSZ: a program can send itself that signal, and a parent need not report a
  // child that died of it. Files without a name count, too. While some files cannot be examined, the loss of free
  // space since the last complete look counts as well, by any writer. `init` of the sandbox; -1 when no process lives
  // in it.
  bool is_over(int init);

 private:
  struct Use {
    std::int64_t bytes = 0;    // as the file system reports them
    std::int64_t longest = 0;  // the longest file
    bool complete = true;      // all files could be examined
  };
  class Walk;
  Use use() const;
  std::int64_t free_bytes() const;

  std::vector<WritablePath> paths_;
  std::vector<std::string> inside_;
  std::int64_t limit_;
  Use at_start_;  // the use of the paths that do not count whole
  // At the last complete look, or at the start: the bytes that count, and the free bytes.
  std::int64_t taken_when_complete_ = 0, free_when_complete_;
};

}  // namespace pawl::sandbox
