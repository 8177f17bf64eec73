// Moves bytes between two connected stream sockets, both ways, until both directions have ended.
#pragma once

#include <cstdint>
#include <functional>

namespace pawl::egress {

struct RelayCount {
  std::int64_t sent = 0, received = 0;  // from `inner` to `outer`, and from `outer` to `inner`
};

// Blocks. Bytes are spliced through pipes and never enter this process. Ends early when `stop_fd`
// becomes readable, or when `may_move(n)` (called after n more bytes) returns false. REQUIRES: both
// sockets are non-blocking.
RelayCount relay(int inner, int outer, int stop_fd, const std::function<bool(std::int64_t)>& may_move);

}  // namespace pawl::egress
