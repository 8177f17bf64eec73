// How a sandbox's first processes and its supervisor hand descriptors to each other: one message each, over
// the socket that they share (SCM_RIGHTS, unix(7)). The command never has this socket.
#pragma once

#include <cstdint>
#include <optional>

#include "os/file.h"

namespace pawl::sandbox {

enum class HandOver : std::uint32_t { kListener, kTracer, kTree, kCgroup, kRenames };

struct Handed {
  HandOver what = HandOver::kListener;
  std::uint32_t index = 0;  // of kListener: in ChildJob::listeners; of kTree: in ChildJob::trees
  os::UniqueFd fd;
};

bool hand_over(int socket, HandOver what, std::size_t index, int fd);
enum class Waiting { kNot, kForOne };
// Empty when there is nothing (more), or the other side is gone. Allocates nothing.
std::optional<Handed> take_over(int socket, Waiting waiting);

// A rename that somebody inside asks for and waits with (renames.h), from a tracer to the init.
struct AskedRename {
  std::uint64_t id = 0;     // of the notification (seccomp_unotify(2))
  std::int32_t thread = 0;  // as the pid namespace inside counts
  std::int32_t call = 0;
  std::uint64_t arguments[5] = {};
};
// False: it can't be passed on now.
bool send_rename(int socket, const AskedRename& asked);
bool take_rename(int socket, AskedRename& asked);

}  // namespace pawl::sandbox
