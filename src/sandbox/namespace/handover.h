// How a sandbox's first processes and its supervisor hand descriptors to each other: one message each, over
// the socket that they share (SCM_RIGHTS, unix(7)). The command never has this socket.
#pragma once

#include <cstdint>
#include <optional>

#include "os/file.h"

namespace pawl::sandbox {

enum class HandOver : std::uint32_t { kListener, kTracer, kTree, kCgroup };

struct Handed {
  HandOver what = HandOver::kListener;
  std::uint32_t index = 0;  // of kListener: in ChildJob::listeners; of kTree: in ChildJob::trees
  os::UniqueFd fd;
};

bool hand_over(int socket, HandOver what, std::size_t index, int fd);
enum class Waiting { kNot, kForOne };
// Empty when there is nothing (more), or the other side is gone. Allocates nothing.
std::optional<Handed> take_over(int socket, Waiting waiting);

}  // namespace pawl::sandbox
