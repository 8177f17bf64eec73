// A disk for SQLite that keeps only synced data: a VFS (sqlite.org/vfs.html) in memory, for one connection to
// a database at a time.
//
// A program sees its own writes at once. When the power fails, synced data stays. Of the writes since the
// last sync of a file, some sectors stay and some are lost.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world.h"

namespace pawl::sim {

class SimDisk {
 public:
  // The fault of the next commit, once. SQLite's code in brackets.
  enum class Fault {
    kNone,
    kBusy,          // another writer holds the lock for too long (BUSY): no change
    kFull,          // no space for the first page (FULL): no change
    kWriteFails,    // (IOERR_WRITE): no change
    kSyncFails,     // (IOERR_FSYNC): the disk may have it; a crash will tell
    kPowerAtWrite,  // before the first page is written
    kPowerAtSync,   // all is written, but not synced
  };

  // The synced content of a disk, by path.
  using Image = std::map<std::string, std::string>;

  explicit SimDisk(const Image& image = {});
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // Injects the fault into the commit after `skipped` others.
  void arm(Fault fault, int skipped) { fault_ = fault, skipped_ = skipped, commit_written_ = false; }
  void disarm() { fault_ = Fault::kNone; }
  // From here on every call fails, until restart().
  void fail_power() { dead_ = true; }
  bool is_dead() const { return dead_; }
  Image image() const;
  // Replaces the content of the disk. REQUIRES: no file is open.
  void put(const Image& image);
  // Ends a power failure. With `all_arrived` all unsynced sectors are on the disk. Otherwise `fate` decides
  // for each, and the first header of a WAL frame is always lost. So the fate of a commit does not depend on
  // its number of sectors.
  void restart(bool all_arrived, Dice fate);
  // Grows with every write to a file: while it is the same, no file was written.
  std::int64_t writes() const { return writes_; }

 private:
  friend struct Vfs;
  // A write that was not synced; when `cuts`, a truncation at `offset`.
  struct Write {
    std::size_t offset = 0, size = 0;
    std::string bytes;            // the old content; after take_back() the written content
    std::size_t size_before = 0;  // size of the file before
    bool cuts = false;
  };
  struct File {
    std::string seen;
    std::vector<Write> unsynced;
    // Restores the synced content in `seen`. `unsynced` then holds the writes, so that they can be repeated.
    void take_back();
  };
  static void write(File& file, std::size_t offset, std::string_view bytes);
  static void cut(File& file, std::size_t size);

  int before_write(const std::string& path, std::size_t bytes, const char* data);
  int before_sync(const std::string& path);

  std::map<std::string, File> files_;
  // The WAL index of each database. It is memory, lost with the power.
  std::map<std::string, std::vector<std::unique_ptr<char[]>>> shared_;
  Fault fault_ = Fault::kNone;
  int skipped_ = 0;
  bool commit_written_ = false;
  bool dead_ = false;
  std::int64_t writes_ = 0;
};

}  // namespace pawl::sim
