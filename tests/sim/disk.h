// A disk for SQLite that keeps only what was synced: a VFS (sqlite.org/vfs.html) in memory, for one
// connection to a database at a time.
//
// What a program writes is seen by itself at once. When the power fails, of the writes since the last sync of
// a file some sectors are there and some are not; what was synced is there.
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
  // What is to go wrong in the next commit, once. SQLite's own words for it in brackets.
  enum class Fault {
    kNone,
    kBusy,          // somebody else writes for longer than anybody waits (BUSY): nothing happens
    kFull,          // no space for the first page (FULL): nothing happens
    kWriteFails,    // (IOERR_WRITE): nothing happens
    kSyncFails,     // (IOERR_FSYNC): perhaps the disk has it, and a crash will tell
    kPowerAtWrite,  // before the first page is written
    kPowerAtSync,   // all is written, and nothing synced
  };

  // What is on a disk and was synced, by path.
  using Image = std::map<std::string, std::string>;

  explicit SimDisk(const Image& image = {});
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // In the commit after `skipped` others.
  void arm(Fault fault, int skipped) { fault_ = fault, skipped_ = skipped, commit_written_ = false; }
  void disarm() { fault_ = Fault::kNone; }
  // From here on every call fails, until restart().
  void fail_power() { dead_ = true; }
  bool is_dead() const { return dead_; }
  Image image() const;
  // REQUIRES: nobody has a file open.
  void put(const Image& image);
  // Whether the sectors that were not synced are all there, or `fate` decides of each, but for the first
  // header of a WAL's frame, which is lost: so it does not depend on the number of sectors what a commit came
  // to.
  void restart(bool all_arrived, Dice fate);
  // Grows with every write to a file: what is the same was not written to.
  std::int64_t writes() const { return writes_; }

 private:
  friend struct Vfs;
  // One that was not synced, or a cut at `offset` when `cuts`.
  struct Write {
    std::size_t offset = 0, size = 0;
    std::string bytes;            // what was there before; once it is taken back, what it wrote
    std::size_t size_before = 0;  // of the file
    bool cuts = false;
  };
  struct File {
    std::string seen;
    std::vector<Write> unsynced;
    // Until only what was synced is seen; `unsynced` can be written again then.
    void take_back();
  };
  static void write(File& file, std::size_t offset, std::string_view bytes);
  static void cut(File& file, std::size_t size);

  int before_write(const std::string& path, std::size_t bytes, const char* data);
  int before_sync(const std::string& path);

  std::map<std::string, File> files_;
  // The WAL index of each database: memory, gone with the power.
  std::map<std::string, std::vector<std::unique_ptr<char[]>>> shared_;
  Fault fault_ = Fault::kNone;
  int skipped_ = 0;
  bool commit_written_ = false;
  bool dead_ = false;
  std::int64_t writes_ = 0;
};

}  // namespace pawl::sim
