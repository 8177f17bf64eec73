// How the first processes of a sandbox and its supervisor pass descriptors to each other: one descriptor for each
// message, over a shared socket (SCM_RIGHTS, unix(7)). The command never has this socket.
#pragma once

#include <cstdint>
#include <optional>

#include "os/file.h"

namespace pawl::sandbox {

enum class HandOver : std::uint32_t { kListener, kTracer, kTree, kCgroup, kRenames };

struct Handed {
  HandOver what = HandOver::kListener;
  std::uint32_t index = 0;  // kListener: in ChildJob::listeners; kTree: in ChildJob::trees
  os::UniqueFd fd;
};

bool hand_over(int socket, HandOver what, std::size_t index, int fd);
enum class Waiting { kNot, kForOne };
// Empty when no descriptor is there, or the peer is gone. Allocates no memory.
std::optional<Handed> take_over(int socket, Waiting waiting);

// A rename that a process inside requests and waits for (renames.h), passed from the tracer to the init.
struct AskedRename {
  std::uint64_t id = 0;     // the notification's (seccomp_unotify(2))
  std::int32_t thread = 0;  // the number in the pid namespace inside
  std::int32_t call = 0;
  std::uint64_t arguments[5] = {};
};
// False: the rename cannot be passed on now.
bool send_rename(int socket, const AskedRename& asked);
bool take_rename(int socket, AskedRename& asked);

}  // namespace pawl::sandbox
