#include "sqlite/joined_writes.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::sqlite {
namespace {

using Methods = sqlite3_io_methods;

// SQLite never writes more than one page at a time. Its Unix VFS masks the size of a write to these bits
// (seekAndWriteFd), so a longer write would be cut.
constexpr std::size_t kKeptBytesMax = 0x1ffff;
// sqlite.org/fileformat2.html#walformat; bytes 4 to 7 of the header are not 0 in the frame that commits.
constexpr std::size_t kFrameHeaderBytes = 24;
// sqlite.org/walformat.html#wal_locks
constexpr int kWriteLock = 0;

// An open database or WAL. In memory, the file object of the VFS below follows it.
struct File {
  sqlite3_file shown = {};
  File* other = nullptr;  // a database's WAL, or a WAL's database, while both are open
  // The members of a WAL:
  std::string kept;
  sqlite3_int64 kept_at = 0;  // offset of `kept`
  bool page_is_next = false, page_commits = false;
  int failed = SQLITE_OK;  // the error that lost buffered frames
};
// The object that follows needs the alignment of any type.
constexpr std::size_t kFileBytes =
    (sizeof(File) + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);

File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kFileBytes);
}
// Calls the method of the file below.
template <typename... Of, typename... Args>
int pass(int (*Methods::*method)(sqlite3_file*, Of...), sqlite3_file* file, Args... args) {
  return (below(file)->pMethods->*method)(below(file), args...);
}

void forget(File& wal) {
  wal.kept.clear();
  wal.page_is_next = wal.page_commits = false;
}

int write_kept(File& wal) {
  if (wal.failed != SQLITE_OK || wal.kept.empty()) return wal.failed;
  wal.failed =
      pass(&Methods::xWrite, &wal.shown, wal.kept.data(), static_cast<int>(wal.kept.size()), wal.kept_at);
  forget(wal);
  return wal.failed;
}

// Buffers the parts of a frame; writes all other data at once.
int write_wal(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  auto& wal = of(file);
  const std::string_view bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
  const bool goes_on = !wal.kept.empty() &&
                       offset == wal.kept_at + static_cast<sqlite3_int64>(wal.kept.size()) &&
                       wal.kept.size() + bytes.size() <= kKeptBytesMax;
  if (!goes_on)
    if (const int code = write_kept(wal); code != SQLITE_OK) return code;
  const bool is_page = goes_on && wal.page_is_next;
  const bool is_header = !is_page && bytes.size() == kFrameHeaderBytes;
  const bool commits = is_header && std::any_of(&bytes[4], &bytes[8], [](char byte) { return byte != 0; });
  // A committing header that follows no buffered frame may be one that SQLite rewrites, without a page after
  // it.
  if (!is_page && (!is_header || (commits && !goes_on))) {
    if (const int code = write_kept(wal); code != SQLITE_OK) return code;
    return pass(&Methods::xWrite, file, data, size, offset);
  }
  if (wal.failed != SQLITE_OK) return wal.failed;
  if (wal.kept.empty()) wal.kept_at = offset;
  wal.kept.append(bytes);
  wal.page_is_next = is_header;
  if (is_header) wal.page_commits = commits;
  return is_page && wal.page_commits ? write_kept(wal) : SQLITE_OK;
}

// The method of the file below; after_kept writes the buffer of a WAL first.
template <auto kMethod, typename Type = decltype(kMethod)>
struct As;
template <auto kMethod, typename... Of>
struct As<kMethod, int (*Methods::*)(sqlite3_file*, Of...)> {
  static int below(sqlite3_file* file, Of... args) { return pass(kMethod, file, args...); }
  static int after_kept(sqlite3_file* file, Of... args) {
    const int code = write_kept(of(file));
    return code == SQLITE_OK ? pass(kMethod, file, args...) : code;
  }
};

int close(sqlite3_file* file) {
  const int code = pass(&Methods::xClose, file);
  auto& closed = of(file);
  if (closed.other != nullptr) closed.other->other = nullptr;
  closed.~File();
  return code;
}

int lock_shared(sqlite3_file* database, int first, int count, int flags) {
  constexpr int kLetsGo = SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE;
  if (auto* wal = of(database).other; wal != nullptr && first == kWriteLock && flags == kLetsGo) {
    forget(*wal);
    wal->failed = SQLITE_OK;
  }
  return pass(&Methods::xShmLock, database, first, count, flags);
}

void barrier(sqlite3_file* database) { below(database)->pMethods->xShmBarrier(below(database)); }

constexpr Methods kDatabase = {.iVersion = 2,
                               .xClose = close,
                               .xRead = As<&Methods::xRead>::below,
                               .xWrite = As<&Methods::xWrite>::below,
                               .xTruncate = As<&Methods::xTruncate>::below,
                               .xSync = As<&Methods::xSync>::below,
                               .xFileSize = As<&Methods::xFileSize>::below,
                               .xLock = As<&Methods::xLock>::below,
                               .xUnlock = As<&Methods::xUnlock>::below,
                               .xCheckReservedLock = As<&Methods::xCheckReservedLock>::below,
                               .xFileControl = As<&Methods::xFileControl>::below,
                               .xSectorSize = As<&Methods::xSectorSize>::below,
                               .xDeviceCharacteristics = As<&Methods::xDeviceCharacteristics>::below,
                               .xShmMap = As<&Methods::xShmMap>::below,
                               .xShmLock = lock_shared,
                               .xShmBarrier = barrier,
                               .xShmUnmap = As<&Methods::xShmUnmap>::below};

constexpr Methods methods_of_wal() {
  Methods out = kDatabase;
  out.xRead = As<&Methods::xRead>::after_kept;
  out.xWrite = write_wal;
  out.xTruncate = As<&Methods::xTruncate>::after_kept;
  out.xSync = As<&Methods::xSync>::after_kept;
  out.xFileSize = As<&Methods::xFileSize>::after_kept;
  return out;
}
constexpr Methods kWal = methods_of_wal();

sqlite3_vfs* g_below = nullptr;  // set once, before the VFS is registered

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const bool is_wal = (flags & SQLITE_OPEN_WAL) != 0;
  if (!is_wal && (flags & SQLITE_OPEN_MAIN_DB) == 0)
    return g_below->xOpen(g_below, name, file, flags, out_flags);
  auto& opened = *new (file) File;
  const int code = g_below->xOpen(g_below, name, below(file), flags, out_flags);
  // SQLite then does not close it; a File owns no memory yet
  if (below(file)->pMethods == nullptr) return code;
  opened.shown.pMethods = is_wal ? &kWal : &kDatabase;
  if (is_wal) {
    opened.other = &of(sqlite3_database_file_object(name));
    opened.other->other = &opened;
  }
  return code;
}

// A copy of the VFS below, except for the name and xOpen.
sqlite3_vfs make_vfs() {
  g_below = sqlite3_vfs_find(nullptr);
  PAWL_CHECK(g_below != nullptr);
  sqlite3_vfs out = *g_below;
  out.zName = "pawl-joined-writes";
  out.szOsFile += static_cast<int>(kFileBytes);
  out.xOpen = open;
  return out;
}

}  // namespace

const char* joined_writes_vfs() {
  static sqlite3_vfs vfs = make_vfs();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  PAWL_CHECK(registered == SQLITE_OK);
  return vfs.zName;
}

}  // namespace pawl::sqlite
