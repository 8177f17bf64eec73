// Unix sockets by path, whatever its length: an address has room for 107 bytes, so longer ones go through the
// folder's descriptor, /proc/self/fd/<n>/name (unix(7)).
#pragma once

#include <string>

#include "base/error.h"
#include "os/file.h"

namespace pawl::agent {

// What bind(2) and connect(2) take while this lives.
class SocketPath {
 public:
  static Result<SocketPath> of(const std::string& path);
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  os::UniqueFd folder_;  // of long paths
};

// A listening socket at `path`, non-blocking, close-on-exec. One that nobody listens at any more is replaced;
// kUnavailable when somebody does, kConflict when something else is there.
Result<os::UniqueFd> listen_at(const std::string& path, unsigned mode);
Result<os::UniqueFd> connect_to(const std::string& path);  // blocking, close-on-exec

}  // namespace pawl::agent
