// The place that a command's output option names. Only a regular file can be replaced by a rename: a rename
// over a device, a FIFO or a link would destroy it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::os {

struct Destination {
  enum class Kind {
    kNothing,     // `path` is free
    kFile,        // a regular file
    kStream,      // a device or a FIFO
    kDescriptor,  // a descriptor of this process: /dev/stdout, /dev/fd/3
  };
  Kind kind = Kind::kNothing;
  std::string path;     // without a symlink at its end
  int descriptor = -1;  // set for kDescriptor
};

// Follows symlinks, also one whose target is missing. kInvalid: a folder or a socket, which takes no output.
Result<Destination> destination_of(const std::string& path);
// Writes to a kStream or a kDescriptor, without a rename and without fsync, which neither supports. Waits for
// the reader of a FIFO.
Status write_in_place(const Destination& to, std::string_view bytes);

}  // namespace pawl::os
