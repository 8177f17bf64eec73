#include "sandbox/namespace/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

// Newer than the headers of Debian 12. The values are from linux/landlock.h in 6.12.
constexpr std::uint64_t kTruncate = 1ULL << 14, kIoctlDev = 1ULL << 15;
constexpr std::uint64_t kScopeAbstractSockets = 1ULL << 0, kScopeSignals = 1ULL << 1;
constexpr int kAbiTruncate = 3, kAbiNet = 4, kAbiIoctlDev = 5, kAbiScopes = 6;

struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // since ABI 4
  std::uint64_t scoped = 0;              // since ABI 6
};

constexpr std::uint64_t kReading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriting =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                   LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kIoctlDev;

std::uint64_t handled(int abi) {
  return kReading | kWriting | (abi >= kAbiTruncate ? kTruncate : 0) | (abi >= kAbiIoctlDev ? kIoctlDev : 0);
}

bool allow(int ruleset, const std::string& path, std::uint64_t access) {
  const os::UniqueFd at(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at) return errno == ENOENT;
  const landlock_path_beneath_attr rule{.allowed_access = access, .parent_fd = at.get()};
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

int landlock_abi() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

bool restrict_writing(const std::vector<std::string>& writable) {
  const int abi = landlock_abi();
  RulesetAttributes attributes{.handled_access_fs = handled(abi)};
  std::size_t size = offsetof(RulesetAttributes, handled_access_net);
  if (abi >= kAbiNet) size = offsetof(RulesetAttributes, scoped);
  if (abi >= kAbiScopes) {
    attributes.scoped = kScopeAbstractSockets | kScopeSignals;
    size = sizeof attributes;
  }
  const os::UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset || !allow(ruleset.get(), "/", kReading)) return false;
  for (const auto& path : writable) {
    const bool folder = os::is_folder(path);
    if (!allow(ruleset.get(), path, folder ? handled(abi) : handled(abi) & kOfFiles)) return false;
  }
  return syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

}  // namespace pawl::sandbox
