// Unix sockets at paths of any length. An address has room for 107 bytes; a longer path goes through the
// folder's descriptor, /proc/self/fd/<n>/name (unix(7)).
#pragma once

#include <string>

#include "base/error.h"
#include "os/file.h"

namespace pawl::http {

// An address for bind(2) and connect(2), valid while this object lives.
class SocketPath {
 public:
  static Result<SocketPath> of(const std::string& path);
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  os::UniqueFd folder_;  // for a long path
};

// A listening socket at `path`, non-blocking, close-on-exec. A stale socket is replaced. kUnavailable:
// another process listens there; kConflict: the path is not a socket.
Result<os::UniqueFd> listen_at(const std::string& path, unsigned mode);
Result<os::UniqueFd> connect_to(const std::string& path);  // blocking, close-on-exec

}  // namespace pawl::http
