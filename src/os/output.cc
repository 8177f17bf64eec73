#include "os/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <optional>

#include "os/file.h"

namespace pawl::os {
namespace {

constexpr int kLinksMax = 40;  // the kernel's own limit (path_resolution(7))

std::optional<int> own_descriptor(const std::string& folder, std::string_view name) {
  const auto ours = absolute_path("/proc/self/fd");
  int number = -1;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (!ours || folder != *ours || read.ec != std::errc() || read.ptr != name.data() + name.size())
    return std::nullopt;
  return number;
}

Result<Destination> of_status(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return Destination{.kind = Destination::Kind::kFile, .path = path};
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) || S_ISFIFO(status.st_mode))
    return Destination{.kind = Destination::Kind::kStream, .path = path};
  return fail(ErrorKind::kInvalid, path + ": is a folder or a socket; name a file");
}

// Not kUnavailable, which asks for another try: no other process holds it.
std::unexpected<Error> unwritten(std::string_view what, const std::string& path) {
  auto failed = fail_errno(errno, what, path);
  if (failed.error().kind == ErrorKind::kUnavailable) failed.error().kind = ErrorKind::kExhausted;
  return failed;
}

}  // namespace

Result<Destination> destination_of(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= kLinksMax; ++links) {
    const std::string name = at.substr(at.rfind('/') + 1);
    const auto folder = absolute_path(folder_of(at));
    if (folder)
      if (const auto number = own_descriptor(*folder, name))
        return Destination{.kind = Destination::Kind::kDescriptor, .path = path, .descriptor = *number};
    struct stat status {};
    if (lstat(at.c_str(), &status) != 0) {
      if (errno == ENOENT) return Destination{.path = at};
      return fail_errno(errno, "write", at);
    }
    if (!S_ISLNK(status.st_mode)) return of_status(at, status);
    // Links below /proc have no path to follow. Opening one opens what another process has.
    if (folder && folder->starts_with("/proc/"))
      return Destination{.kind = Destination::Kind::kStream, .path = at};
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlink(at.c_str(), target.data(), target.size());
    if (size < 0) return fail_errno(errno, "read link", at);
    const std::string to(target.data(), static_cast<std::size_t>(size));
    at = to.starts_with('/') ? to : join(folder_of(at), to);
  }
  return fail(ErrorKind::kInvalid, path + ": leads through too many symbolic links; name a file");
}

Status write_in_place(const Destination& to, std::string_view bytes) {
  const bool is_ours = to.kind == Destination::Kind::kDescriptor;
  // A descriptor is used itself: opened again, a file would be written from its beginning.
  const UniqueFd fd(is_ours ? fcntl(to.descriptor, F_DUPFD_CLOEXEC, 0)
                            : open(to.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd) return unwritten("open", to.path);
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return unwritten("write", to.path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace pawl::os
