#include "sandbox/namespace/etc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

#include "base/lines.h"
#include "os/clock.h"
#include "os/file.h"
#include "sandbox/inside.h"
#include "sandbox/namespace/etc_rules.h"

namespace pawl::sandbox {
namespace {

constexpr std::string_view kFormat = "pawl-etc 2 " PAWL_VERSION;  // names the format and rules of a view
constexpr std::int64_t kFileBytesMax = 16 << 20;
constexpr std::uint64_t kRecordBytesMax = 16 << 20;
constexpr std::int64_t kFreshSeconds = 86'400;     // so that a cleaner of /var/tmp does not take it for old
constexpr std::int64_t kKeptSeconds = 3 * 86'400;  // views without a lock, as older versions made them
constexpr int kNamesMax = 8;                       // another user may have taken the first names

// The stamp of a path changes with every change of it on the host.
std::string stamp_of(const struct stat& status) {
  return fmt::format("{}.{}.{}.{}.{}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::string stamp_of(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? stamp_of(status) : "none";
}

class EtcCopy {
 public:
  EtcCopy(const std::string& root, std::string to)
      : root_(root), from_(root + "/etc"), to_(std::move(to)), rules_(EtcRules::of_host(root)) {}

  Status make() {
    for (const auto record : EtcRules::kRecords) watch(std::string(record));
    struct stat status {};
    if (lstat(from_.c_str(), &status) == 0) owner_ = status.st_uid;
    PAWL_OK(make_folder(""));
    PAWL_OK(add_folder(""));
    for (const auto& [name, content] : inside::kEtcFiles) {
      const std::string path = os::join(to_, name);
      PAWL_OK(os::write_atomically(path, content));
      if (chmod(path.c_str(), 0644) != 0) return fail_errno(errno, "chmod", path);
    }
    return {};
  }

  // One line for each path whose change may change the view.
  const std::string& watched() const { return watched_; }

 private:
  void watch(const std::string& path) { watched_ += stamp_of(root_ + path) + " " + path + "\n"; }

  Status make_folder(const std::string& path) {
    const std::string folder = path.empty() ? to_ : os::join(to_, path);
    if (os::is_folder(folder)) return {};
    if (!path.empty()) PAWL_OK(make_folder(path.find('/') == path.npos ? "" : os::folder_of(path)));
    if (mkdir(folder.c_str(), 0755) != 0 || chmod(folder.c_str(), 0755) != 0)
      return fail_errno(errno, "create folder", folder);
    return {};
  }

  Status add_folder(const std::string& path) {
    watch(path.empty() ? "/etc" : "/etc/" + path);
    const auto names = os::list_folder(os::join(from_, path));
    if (!names) return {};  // an unreadable folder is not shown
    for (const auto& name : *names) {
      const std::string below = path.empty() ? name : os::join(path, name);
      if (EtcRules::is_denied(below) || name.find('\n') != std::string::npos) continue;
      PAWL_OK(add_entry(below));
    }
    return {};
  }

  Status add_entry(const std::string& path) {
    const std::string from = os::join(from_, path);
    struct stat status {};
    if (lstat(from.c_str(), &status) != 0) return {};
    constexpr mode_t kEnter = S_IROTH | S_IXOTH;
    if (S_ISDIR(status.st_mode)) {
      if ((status.st_mode & kEnter) == kEnter) return add_folder(path);
      watch("/etc/" + path);
      return {};
    }
    if (S_ISLNK(status.st_mode)) return add_link(path);
    if (!S_ISREG(status.st_mode) || !rules_.is_of_a_package(path)) return {};
    watch("/etc/" + path);
    const bool is_shown =
        (status.st_mode & S_IROTH) != 0 && status.st_uid == owner_ && status.st_size <= kFileBytesMax;
    if (!is_shown) return {};
    PAWL_OK(make_parent(path));
    const std::string to = os::join(to_, path);
    if (const auto copied = os::copy_file(from, to, 0644); !copied)  // it may have been removed meanwhile
      return copied.error().kind == ErrorKind::kNotFound ? Status() : copied;
    if (chmod(to.c_str(), (status.st_mode & S_IXOTH) != 0 ? 0755 : 0644) != 0)
      return fail_errno(errno, "chmod", to);
    return {};
  }

  Status add_link(const std::string& path) {
    char target[PATH_MAX] = {};
    if (readlink(os::join(from_, path).c_str(), target, sizeof target - 1) <= 0) return {};
    if (!EtcRules::is_shown_target(target)) return {};
    PAWL_OK(make_parent(path));
    const std::string link = os::join(to_, path);
    if (symlink(target, link.c_str()) != 0) return fail_errno(errno, "symlink", link);
    return {};
  }

  Status make_parent(const std::string& path) {
    return path.find('/') == std::string::npos ? Status() : make_folder(os::folder_of(path));
  }

  const std::string &root_, from_, to_;
  const EtcRules rules_;
  uid_t owner_ = 0;  // the owner of /etc: other users' files are not shown
  std::string watched_;
};

std::int64_t age_seconds(const struct stat& status) {
  return os::SystemClock().wall().micros / 1'000'000 - status.st_mtim.tv_sec;
}

std::string lock_of(const std::string& view) { return os::join(os::folder_of(view), "lock"); }

std::string record_of(const std::string& cache) { return os::join(cache, "current"); }

// The existing view, if it still matches the host.
Result<EtcView> current_view(const std::string& root, const std::string& record) {
  const auto stale = [] { return fail(ErrorKind::kNotFound, "no view of /etc"); };
  struct stat status {};
  if (lstat(record.c_str(), &status) != 0 || status.st_uid != geteuid()) return stale();
  if (age_seconds(status) > kFreshSeconds) return stale();
  PAWL_TRY(const std::string text, os::read_file(record, kRecordBytesMax));
  std::string view;
  std::size_t number = 0;
  for (const auto line : TextLines(text)) {
    if (number == 0 && line != kFormat) return stale();
    if (number == 1) view = line;
    const auto blank = line.find(' ');
    if (number > 1 &&
        (blank == line.npos || stamp_of(root + std::string(line.substr(blank + 1))) != line.substr(0, blank)))
      return stale();
    ++number;
  }
  if (number < 3) return stale();
  auto held = os::FileLock::lock_shared(lock_of(view));
  // The process that removes a view holds the lock alone, and may have done so a moment ago.
  if (!held || !os::is_folder(view)) return stale();
  return EtcView{.path = view, .held = *std::move(held)};
}

// Removes all old views except `kept`. REQUIRES: the caller holds the cache's lock.
void remove_old_views(const std::string& cache, const std::string& kept) {
  const auto names = os::list_folder(cache);
  if (!names) return;
  for (const auto& name : *names) {
    const std::string path = os::join(cache, name), lock = os::join(path, "lock");
    struct stat status {};
    if (!name.starts_with("view.") || path == kept || lstat(path.c_str(), &status) != 0) continue;
    if (!os::exists(lock)) {
      if (age_seconds(status) > kKeptSeconds) static_cast<void>(os::remove_tree(path));
      continue;
    }
    const auto alone = os::FileLock::try_lock(lock);
    if (alone && *alone) static_cast<void>(os::remove_tree(path));
  }
}

// Whether only this user can change the folder; makes it first. Others may read it: as root, the init of a
// sandbox is another user.
bool is_private_folder(const std::string& path) {
  struct stat status {};
  if (mkdir(path.c_str(), 0755) == 0) chmod(path.c_str(), 0755);
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

Result<EtcView> etc_view(const std::string& root, const std::string& cache) {
  const std::string record = record_of(cache);
  if (!is_private_folder(cache)) return fail(ErrorKind::kDenied, cache + ": is not this user's own folder");
  if (auto view = current_view(root, record)) return view;
  PAWL_TRY(const auto making, os::FileLock::lock(os::join(cache, "lock")));
  if (auto view = current_view(root, record)) return view;  // another process has made it meanwhile
  remove_old_views(cache, "");
  std::string folder = os::join(cache, "view.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr || chmod(folder.c_str(), 0755) != 0)
    return fail_errno(errno, "create folder", folder);
  const std::string view = os::join(folder, "etc");
  PAWL_TRY(auto held, os::FileLock::lock_shared(lock_of(view)));
  EtcCopy copy(root, view);
  PAWL_OK(copy.make());
  PAWL_OK(os::write_atomically(record, fmt::format("{}\n{}\n{}", kFormat, view, copy.watched())));
  return EtcView{.path = view, .held = std::move(held)};
}

namespace {

// Folders for views. The first is one where no other user can take the name.
std::vector<std::vector<std::string>> caches() {
  const std::string own = geteuid() == 0 ? "/run" : fmt::format("/run/user/{}", geteuid());
  std::vector<std::vector<std::string>> out;
  for (const std::string& temporary : {own, std::string("/var/tmp"), std::string("/tmp")}) {
    auto& names = out.emplace_back();
    for (int i = 0; i < kNamesMax; ++i)
      names.push_back(
          fmt::format("{}/pawl-etc-{}{}", temporary, geteuid(), i == 0 ? "" : "." + std::to_string(i)));
  }
  return out;
}

}  // namespace

Result<EtcView> etc_view() {
  Result<EtcView> view = fail(ErrorKind::kUnavailable, "/etc of the sandbox: no folder for it");
  for (const auto& names : caches())
    for (const auto& cache : names) {
      view = etc_view("", cache);
      if (view) return view;
      if (view.error().kind != ErrorKind::kDenied) break;  // another name would not help
    }
  return view;
}

namespace {

void sweep_views(const std::string& cache) {
  struct stat status {};
  if (lstat(cache.c_str(), &status) != 0 || !is_private_folder(cache)) return;
  const auto making = os::FileLock::lock(os::join(cache, "lock"));
  if (!making) return;
  const auto view = current_view("", record_of(cache));
  remove_old_views(cache, view ? os::folder_of(view->path) : "");
}

}  // namespace

void sweep_etc_views() {
  for (const auto& names : caches())
    for (const auto& cache : names) sweep_views(cache);
}

}  // namespace pawl::sandbox
