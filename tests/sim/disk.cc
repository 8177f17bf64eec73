#include "sim/disk.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace pawl::sim {
namespace {

constexpr std::size_t kSectorBytes = 512;
constexpr std::size_t kFrameHeaderBytes = 24;  // in the WAL; bytes 4 to 7 are not 0 in a commit's last frame
constexpr std::size_t kPageBytes = 4096;       // SQLite's default
constexpr const char* kName = "pawl-sim";

SimDisk* g_disk = nullptr;  // one disk at a time, because a VFS has no other place for it

bool is_wal(const std::string& path) { return path.ends_with("-wal"); }

}  // namespace

// The functions that SQLite calls.
struct Vfs {
  struct Handle {
    sqlite3_file base;
    std::string* path;
    SimDisk::File* file;
  };
  static Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto& handle = of(file);
    handle = {};
    if (g_disk->dead_) return SQLITE_CANTOPEN;
    handle.path = new std::string(name);
    handle.file = &g_disk->files_[*handle.path];
    handle.base.pMethods = &methods();
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs*, const char* name, int) {
    if (g_disk->dead_) return SQLITE_IOERR_DELETE;
    g_disk->files_[name] = {};
    return SQLITE_OK;
  }
  static int access(sqlite3_vfs*, const char* name, int, int* out) {
    const auto found = g_disk->files_.find(name);
    *out = found != g_disk->files_.end() && !found->second.seen.empty() ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_pathname(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
  static int randomness(sqlite3_vfs*, int size, char* out) {
    std::memset(out, 7, static_cast<std::size_t>(size));
    return size;
  }
  static int sleep(sqlite3_vfs*, int micros) { return micros; }
  static int current_time(sqlite3_vfs*, sqlite3_int64* out) {
    *out = 0;
    return SQLITE_OK;
  }

  static int close(sqlite3_file* file) {
    delete of(file).path;
    return SQLITE_OK;
  }
  static int read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
    if (g_disk->dead_) return SQLITE_IOERR_READ;
    const auto& seen = of(file).file->seen;
    const auto from = std::min(static_cast<std::size_t>(offset), seen.size());
    const auto got = std::min(static_cast<std::size_t>(size), seen.size() - from);
    std::memcpy(out, seen.data() + from, got);
    if (got == static_cast<std::size_t>(size)) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + got, 0, static_cast<std::size_t>(size) - got);
    return SQLITE_IOERR_SHORT_READ;
  }
  // A write of several frames is split into the writes that SQLite would make for single frames.
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    const std::string_view all(static_cast<const char*>(data), static_cast<std::size_t>(size));
    const bool has_frames = is_wal(*of(file).path) && all.size() >= kFrameHeaderBytes + kPageBytes;
    for (std::size_t at = 0, part = 0; at < all.size(); at += part) {
      part = has_frames ? (at % (kFrameHeaderBytes + kPageBytes) == 0 ? kFrameHeaderBytes : kPageBytes)
                        : all.size();
      const auto bytes = all.substr(at, part);
      const int code = write_part(file, bytes, offset + static_cast<sqlite3_int64>(at));
      if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
  }
  static int write_part(sqlite3_file* file, std::string_view bytes, sqlite3_int64 offset) {
    auto& handle = of(file);
    if (const int code = g_disk->before_write(*handle.path, bytes.size(), bytes.data()); code != SQLITE_OK)
      return code;
    SimDisk::write(*handle.file, static_cast<std::size_t>(offset), bytes);
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (g_disk->dead_) return SQLITE_IOERR_TRUNCATE;
    SimDisk::cut(*of(file).file, static_cast<std::size_t>(size));
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* file, int) {
    auto& handle = of(file);
    if (const int code = g_disk->before_sync(*handle.path); code != SQLITE_OK) return code;
    handle.file->unsynced.clear();
    return SQLITE_OK;
  }
  static int file_size(sqlite3_file* file, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(of(file).file->seen.size());
    return SQLITE_OK;
  }
  static int no_lock(sqlite3_file*, int) { return SQLITE_OK; }
  static int nobody_reserved(sqlite3_file*, int* out) {
    *out = 0;
    return SQLITE_OK;
  }
  static int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return kSectorBytes; }
  // SQLite's assumption for every disk: an interrupted write damages no bytes beside it.
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
  static int shm_map(sqlite3_file* file, int region, int size, int, void volatile** out) {
    auto& shared = g_disk->shared_[*of(file).path];
    while (shared.size() <= static_cast<std::size_t>(region))
      shared.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    *out = shared[static_cast<std::size_t>(region)].get();
    return SQLITE_OK;
  }
  static int shm_lock(sqlite3_file*, int, int, int flags) {
    const bool takes = (flags & SQLITE_SHM_LOCK) != 0 && (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    return takes && g_disk->fault_ == SimDisk::Fault::kBusy ? SQLITE_BUSY : SQLITE_OK;
  }
  static void shm_barrier(sqlite3_file*) {}
  static int shm_unmap(sqlite3_file* file, int removes) {
    if (removes != 0) g_disk->shared_.erase(*of(file).path);
    return SQLITE_OK;
  }

  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods all = {.iVersion = 2,
                                           .xClose = close,
                                           .xRead = read,
                                           .xWrite = write,
                                           .xTruncate = truncate,
                                           .xSync = sync,
                                           .xFileSize = file_size,
                                           .xLock = no_lock,
                                           .xUnlock = no_lock,
                                           .xCheckReservedLock = nobody_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = sector_size,
                                           .xDeviceCharacteristics = characteristics,
                                           .xShmMap = shm_map,
                                           .xShmLock = shm_lock,
                                           .xShmBarrier = shm_barrier,
                                           .xShmUnmap = shm_unmap};
    return all;
  }
  static sqlite3_vfs& vfs() {
    static sqlite3_vfs all = {.iVersion = 2,
                              .szOsFile = sizeof(Handle),
                              .mxPathname = 512,
                              .zName = kName,
                              .xOpen = open,
                              .xDelete = remove,
                              .xAccess = access,
                              .xFullPathname = full_pathname,
                              .xRandomness = randomness,
                              .xSleep = sleep,
                              .xCurrentTimeInt64 = current_time};
    return all;
  }
};

SimDisk::SimDisk(const Image& image) {
  put(image);
  PAWL_CHECK(g_disk == nullptr);
  g_disk = this;
  // Registered as the default VFS, because the store does not choose one.
  PAWL_CHECK(sqlite3_vfs_register(&Vfs::vfs(), 1) == SQLITE_OK);
}

SimDisk::~SimDisk() { g_disk = nullptr; }

SimDisk::Image SimDisk::image() const {
  Image out;
  for (auto [path, file] : files_) {
    file.take_back();
    if (!file.seen.empty()) out[path] = file.seen;
  }
  return out;
}

void SimDisk::put(const Image& image) {
  files_.clear();
  for (const auto& [path, bytes] : image) files_[path] = {.seen = bytes, .unsynced = {}};
  shared_.clear();
  ++writes_;
}

void SimDisk::write(File& file, std::size_t offset, std::string_view bytes) {
  auto& seen = file.seen;
  auto& write = file.unsynced.emplace_back();
  write.offset = offset;
  write.size = bytes.size();
  write.size_before = seen.size();
  if (offset < seen.size()) write.bytes = seen.substr(offset, bytes.size());
  if (seen.size() < offset + bytes.size()) seen.resize(offset + bytes.size());
  std::memcpy(seen.data() + offset, bytes.data(), bytes.size());
}

void SimDisk::cut(File& file, std::size_t size) {
  auto& seen = file.seen;
  const auto left = std::min(seen.size(), size);
  file.unsynced.push_back(
      {.offset = left, .bytes = seen.substr(left), .size_before = seen.size(), .cuts = true});
  seen.resize(left);
}

void SimDisk::File::take_back() {
  for (auto write = unsynced.rbegin(); write != unsynced.rend(); ++write) {
    auto written = write->cuts ? std::string() : seen.substr(write->offset, write->size);
    seen.resize(write->size_before);
    seen.replace(write->offset, write->bytes.size(), write->bytes);
    write->bytes = std::move(written);
  }
}

int SimDisk::before_write(const std::string& path, std::size_t bytes, const char* data) {
  if (dead_) return SQLITE_IOERR_WRITE;
  ++writes_;
  if (!is_wal(path) || bytes != kFrameHeaderBytes) return SQLITE_OK;
  const Fault fault = skipped_ > 0 ? Fault::kNone : fault_;
  if (fault == Fault::kFull || fault == Fault::kWriteFails || fault == Fault::kPowerAtWrite) {
    disarm();
    dead_ = fault == Fault::kPowerAtWrite;
    return fault == Fault::kFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  commit_written_ = std::any_of(data + 4, data + 8, [](char c) { return c != 0; });
  return SQLITE_OK;
}

int SimDisk::before_sync(const std::string& path) {
  if (dead_) return SQLITE_IOERR_FSYNC;
  if (!is_wal(path) || !commit_written_) return SQLITE_OK;
  commit_written_ = false;
  if (skipped_ > 0) {
    --skipped_;
    return SQLITE_OK;
  }
  const Fault fault = fault_;
  if (fault != Fault::kSyncFails && fault != Fault::kPowerAtSync) return SQLITE_OK;
  disarm();
  dead_ = fault == Fault::kPowerAtSync;
  return SQLITE_IOERR_FSYNC;
}

void SimDisk::restart(bool all_arrived, Dice fate) {
  for (auto& [path, file] : files_) {
    if (file.unsynced.empty()) continue;
    file.take_back();
    auto writes = std::exchange(file.unsynced, {});
    std::vector<Write> sectors;
    for (auto& write : writes) {
      if (write.cuts) {
        sectors.push_back(std::move(write));
        continue;
      }
      for (std::size_t at = 0; at < write.bytes.size(); at += kSectorBytes)
        sectors.push_back({.offset = write.offset + at, .bytes = write.bytes.substr(at, kSectorBytes)});
    }
    const auto header = std::ranges::find_if(sectors, [&](const Write& sector) {
      return is_wal(path) && sector.bytes.size() == kFrameHeaderBytes;
    });
    const auto lost = static_cast<std::size_t>(header - sectors.begin());
    for (std::size_t i = 0; i < sectors.size(); ++i) {
      if (!all_arrived && (i == lost || !fate.percent(50))) continue;
      if (sectors[i].cuts)
        cut(file, sectors[i].offset);
      else
        write(file, sectors[i].offset, sectors[i].bytes);
    }
    file.unsynced.clear();
  }
  shared_.clear();
  dead_ = false;
  ++writes_;
  disarm();
}

}  // namespace pawl::sim
