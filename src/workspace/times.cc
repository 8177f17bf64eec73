// Times of what an agent left. Builds compare them; whoever is judged does not say what they are.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "os/file.h"
#include "os/walls.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::time_t kOldSeconds =
    315'619'200;  // 1980-01-02: before any source, and archives of zip can say it
constexpr std::size_t kMagicBytes = 4;

// ELF, archives of ar, Java, WebAssembly, LLVM's bitcode, headers precompiled by GCC, PE, Mach-O.
constexpr std::array<std::string_view, 8> kCompiled = {
    "\x7f"
    "ELF",
    "!<ar",
    "\xca\xfe\xba\xbe",
    std::string_view("\0asm", 4),
    "BC\xc0\xde",
    "gpch",
    "MZ",
    "\xcf\xfa\xed\xfe"};

bool is_compiled(const std::string& path) {
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, kMagicBytes> start{};
  const ssize_t got = fd ? read(fd.get(), start.data(), start.size()) : -1;
  const std::string_view text(start.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  return std::ranges::any_of(kCompiled, [&](auto magic) { return text.starts_with(magic); });
}

}  // namespace

Status Workspaces::set_times(const std::string& layer_id, const std::string& base_id,
                             const std::vector<std::string>& below) const {
  if (!os::walls().times) return {};
  PAWL_TRY(const auto entries, manifest(layer_id));
  struct stat kept {};
  const std::string made = manifest_path(folder_, "layers", layer_id);
  if (lstat(made.c_str(), &kept) != 0) return fail_errno(errno, "look at", made);
  const View lower(trees_of(base_id, below));
  const std::string tree = layer_tree(layer_id);
  for (const auto& entry : entries) {
    if (entry.type != EntryType::kFile) continue;
    const std::string path = os::join(tree, entry.path);
    const bool is_old = !lower.find(entry.path) || is_compiled(path);
    const timespec time = is_old ? timespec{.tv_sec = kOldSeconds, .tv_nsec = 0} : kept.st_mtim;
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return fail_errno(errno, "look at", path);
    if (status.st_mtim.tv_sec == time.tv_sec && status.st_mtim.tv_nsec == time.tv_nsec) continue;
    const std::array<timespec, 2> times = {time, time};
    if (utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
      return fail_errno(errno, "set the times of", path);
  }
  return {};
}

}  // namespace pawl::workspace
