// What a sandbox's command reads from its standard input: copied through a pipe. The caller's own descriptor
// never goes in: a folder leads to the whole host, a file can be opened again for writing, a terminal takes
// orders.
#pragma once

#include <poll.h>

#include <span>
#include <string>

#include "os/file.h"
#include "sandbox/namespace/idmap.h"

namespace pawl::sandbox {

class Input {
 public:
  static constexpr std::size_t kPolled = 2;

  // `source` stays the caller's; -1: there is none, and no pipe. Programs of `identity` can open the pipe by
  // name.
  static Result<Input> make(int source, const Identity& identity);
  // -1 without a source. It stays open here, too: a sandbox that could not be made is made again in another
  // way, and must find what is in the pipe.
  int read_end() const { return from_.get(); }
  // What poll(2) is to wait for; and what it found.
  void ask(std::span<pollfd, kPolled> fds) const;
  void pass_on(std::span<const pollfd, kPolled> fds);

 private:
  int source_ = -1;
  os::UniqueFd from_, to_;  // the ends of the pipe; what is written to is closed at the end of the source
  std::string waits_;       // read, and not yet written
};

}  // namespace pawl::sandbox
