// What a step ran and talked to, out of its trace and its network log (docs/operations.md). Both were written
// outside of the sandbox; the words in them are the sandbox's.
#pragma once

#include <set>
#include <string>

#include "base/byte_source.h"
#include "base/error.h"

namespace pawl::gates {

struct TraceFacts {
  std::set<std::string> executables;  // paths, as the program asked for them
  std::set<std::string> endpoints;    // "host:port" outside of the sandbox, also those that were refused
  bool cut = false;                   // the trace reached its bound: there may be more
};

// kExhausted: more than a hundred thousand different ones, which no build has. kInvalid: a line is no JSON.
Status add_trace(ByteSource& trace, TraceFacts& to);
Status add_network_log(ByteSource& log, TraceFacts& to);

// Whether a program of this path takes commands as text: sh, bash, busybox, ...
bool is_shell(std::string_view path);

}  // namespace pawl::gates
