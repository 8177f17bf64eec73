// The standard input of a sandbox's command: a pipe that gets a copy. The caller's own descriptor never
// enters the sandbox: a folder leads to the whole host, a file can be reopened for writing, and a
// terminal takes commands.
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

  // `source` stays the caller's; -1: there is no input and no pipe. Programs of `identity`
  // can open the pipe by name.
  static Result<Input> make(int source, const Identity& identity);
  // -1 without a source. The descriptor stays open here, too: a sandbox that could not be made is made again
  // in another way, and must find the data in the pipe.
  int read_end() const { return from_.get(); }
  // ask() fills in the descriptors for poll(2); pass_on() takes its result.
  void ask(std::span<pollfd, kPolled> fds) const;
  void pass_on(std::span<const pollfd, kPolled> fds);

 private:
  int source_ = -1;
  os::UniqueFd from_, to_;  // the ends of the pipe; the write end is closed at the end of the source
  std::string waits_;       // read, and not yet written
};

}  // namespace pawl::sandbox
