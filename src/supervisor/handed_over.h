// The data that a supervisor gets through its stdin (os::spawn_detached) alone: no file, argument or variable has
// them. A detail of this room. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "secrets/redact.h"

namespace pawl::supervisor {

struct HandedOver {
  std::string key;  // the step's key (Seal::key_of_part): kHashKeySize bytes
  secrets::Redactor::Values credentials = {};
};

// The bytes for the pipe. kExhausted: the pipe does not hold them (os::kInputBytesMax). REQUIRES: no NUL character in a
// credential.
Result<std::string> to_bytes(const HandedOver& handed_over);
// kInvalid: the bytes are not from to_bytes(), or are incomplete.
Result<HandedOver> handed_over_in(std::string_view bytes);

}  // namespace pawl::supervisor
