// The programs that a step ran and the endpoints that it connected to, read from its trace and its network
// log (docs/operations.md). Pawl writes both outside the sandbox; the names in them come from the sandbox.
#pragma once

#include <set>
#include <string>

#include "base/byte_source.h"
#include "base/error.h"

namespace pawl::gates {

struct TraceFacts {
  // Paths as the program asked for them. An exec that failed ("exec_failed") ran no program.
  std::set<std::string> executables;
  std::set<std::string> endpoints;  // "host:port" outside the sandbox, including refused ones
  bool cut = false;                 // the trace reached its bound: there may be more
};

// Add the contents of a log to the facts. kInvalid: a line is not a JSON object. kExhausted: more than a
// hundred thousand different entries, which no build has.
Status add_trace(ByteSource& trace, TraceFacts& to);
Status add_network_log(ByteSource& log, TraceFacts& to);

// Whether a program at this path takes commands as text: sh, bash, busybox, ...
bool is_shell(std::string_view path);

}  // namespace pawl::gates
