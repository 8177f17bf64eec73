// How a sandbox's init hands descriptors to its supervisor: one message each, over the socket that they share
// (SCM_RIGHTS, unix(7)). The command never has this socket.
#pragma once

#include <cstdint>
#include <optional>

#include "os/file.h"

namespace pawl::sandbox {

enum class HandOver : std::uint32_t { kListener, kTracer };

struct Handed {
  HandOver what = HandOver::kListener;
  std::uint32_t index = 0;  // of kListener: in ChildJob::listeners
  os::UniqueFd fd;
};

bool hand_over(int socket, HandOver what, std::size_t index, int fd);
// Does not block. Empty when there is nothing (more), or the other side is gone.
std::optional<Handed> take_over(int socket);

}  // namespace pawl::sandbox
