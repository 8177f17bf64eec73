#include "http/socket_path.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pawl::http {
namespace {

sockaddr_un address_of(const SocketPath& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.address().data(), path.address().size());  // of() has checked the size
  return address;
}

Result<os::UniqueFd> make_socket(int flags) {
  os::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) return fail_errno(errno, "make a socket");
  return fd;
}

int connect_with(int fd, const SocketPath& path) {
  const sockaddr_un address = address_of(path);
  for (;;) {
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// Removes the socket of a server that has ended.
Status make_room(const std::string& path, const SocketPath& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return fail(ErrorKind::kConflict, path + ": is not a socket; move it away, or name another path");
  PAWL_TRY(const auto probe, make_socket(SOCK_NONBLOCK));
  const int refused = connect_with(probe.get(), address);
  if (refused == 0 || refused == EAGAIN)
    return fail(ErrorKind::kUnavailable, path + ": another process serves this socket");
  if (refused != ECONNREFUSED) return fail_errno(refused, "connect", path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, "remove the old socket", path);
  return {};
}

}  // namespace

Result<SocketPath> SocketPath::of(const std::string& path) {
  SocketPath out;
  out.address_ = path;
  if (path.size() < sizeof(sockaddr_un::sun_path)) return out;
  const std::string folder = os::folder_of(path);
  out.folder_ = os::UniqueFd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder_) return fail_errno(errno, "open the folder of the socket", folder);
  out.address_ = "/proc/self/fd/" + std::to_string(out.folder_.get()) + path.substr(path.rfind('/'));
  if (out.address_.size() >= sizeof(sockaddr_un::sun_path))
    return fail(ErrorKind::kInvalid, path + ": the name of a socket has at most 64 bytes");
  return out;
}

Result<os::UniqueFd> listen_at(const std::string& path, unsigned mode) {
  PAWL_TRY(const auto address, SocketPath::of(path));
  PAWL_OK(make_room(path, address));
  PAWL_TRY(auto fd, make_socket(SOCK_NONBLOCK));
  fchmod(fd.get(), 0600);  // the mode of the new file: no other user connects before the chmod
  const sockaddr_un bound = address_of(address);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) != 0)
    return fail_errno(errno, "make the socket", path);
  if (chmod(path.c_str(), mode) != 0) return fail_errno(errno, "chmod", path);
  if (listen(fd.get(), SOMAXCONN) != 0) return fail_errno(errno, "listen", path);
  return fd;
}

Result<os::UniqueFd> connect_to(const std::string& path) {
  PAWL_TRY(const auto address, SocketPath::of(path));
  PAWL_TRY(auto fd, make_socket(0));
  if (const int refused = connect_with(fd.get(), address); refused != 0)
    return fail_errno(refused, "connect to the agent's socket", path);
  return fd;
}

}  // namespace pawl::http
