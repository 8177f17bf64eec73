#include "os/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/process.h"

namespace pawl::os {
namespace {

constexpr int kMakeTriesMax = 20;
constexpr std::string_view kRandom = ".XXXXXX";  // the pattern of mkdtemp(3)

// Locks the folder. Empty: it is not this user's folder, or another process has the lock.
UniqueFd hold(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool ours = fd && fstat(fd.get(), &status) == 0 && status.st_uid == geteuid();
  return ours && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(fd) : UniqueFd();
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(const std::string& stem) {
  for (int tries = 1;; ++tries) {
    std::string path = stem + std::string(kRandom);
    if (mkdtemp(path.data()) == nullptr) return fail_errno(errno, "create folder", path);
    static_cast<void>(chmod(path.c_str(), 0700));  // The umask may have taken rights from the owner.
    // Before the lock is held, a sweep may have removed the folder as that of a dead process.
    UniqueFd lock = hold(path);
    if (lock && exists(path)) return TemporaryFolder(std::move(path), std::move(lock));
    if (tries == kMakeTriesMax)
      return fail(ErrorKind::kUnavailable, path + ": is taken away again and again");
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (lock_) static_cast<void>(remove_tree(path_));
}

std::string temporary_stem() {
  const char* usual = access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
  return join(environment_value("TMPDIR").value_or(usual), "pawl-sandbox");
}

void sweep_temporary_folders(const std::string& stem, const std::function<bool()>& should_stop) {
  const std::string folder = folder_of(stem);
  const std::string start = stem.substr(stem.rfind('/') + 1) + ".";
  const auto names = list_folder(folder);
  if (!names) return;
  for (const auto& name : *names) {
    if (!name.starts_with(start) || name.size() != start.size() - 1 + kRandom.size()) continue;
    const std::string path = join(folder, name);
    const auto lock = hold(path);
    if (!lock) continue;
    const auto removed = remove_tree(path, should_stop);
    if (!removed && removed.error().kind == ErrorKind::kCancelled) return;
  }
}

bool is_in_use(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace pawl::os
