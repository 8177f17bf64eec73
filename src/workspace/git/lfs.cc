#include "workspace/git/lfs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/hash.h"
#include "os/file.h"
#include "workspace/git/config.h"

namespace pawl::workspace {

std::string lfs_storage(const FoundRepository& found) {
  git_repository& repository = *found.repository;
  git_config* raw = nullptr;
  git_buf value{};
  std::string storage = "lfs";
  if (git_repository_config_snapshot(&raw, &repository) == 0) {
    const GitConfig config(raw);
    if (git_config_get_string_buf(&value, raw, "lfs.storage") == 0) storage = in_home(value.ptr);
    git_buf_dispose(&value);
  }
  if (storage.starts_with('/')) return storage;
  return os::join(found.stands_for ? found.stands_for->common : git_repository_commondir(&repository),
                  storage);
}

Status keep_lfs(const std::string& storage, const GitFile& file, const std::string& pointer) {
  const std::string hash = pointer.substr(pointer.find(':', pointer.find("sha256")) + 1, kHashHexSize);
  const std::string folder = os::join(storage, "objects/" + hash.substr(0, 2) + "/" + hash.substr(2, 2));
  const std::string path = os::join(folder, hash);
  if (os::exists(path)) return {};
  // Each process has its own folder, in the folder that Git LFS itself clears.
  const std::string temporaries = os::join(storage, "tmp");
  PAWL_OK(os::make_folders(folder));
  PAWL_OK(os::make_folders(temporaries));
  std::string own = os::join(temporaries, "pawl-XXXXXX");
  if (mkdtemp(own.data()) == nullptr) return fail_errno(errno, "create temporary folder", own);
  const auto kept = [&]() -> Status {
    const std::string copy = os::join(own, hash);
    PAWL_OK(os::copy_file(file.full, copy, 0644));
    PAWL_OK(os::fsync_file("lfs", copy));
    return os::rename_durably("lfs", copy, path);
  }();
  static_cast<void>(os::remove_tree(own));
  return kept;
}

}  // namespace pawl::workspace
