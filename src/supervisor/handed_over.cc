#include "supervisor/handed_over.h"

#include "base/hash.h"
#include "os/process.h"

namespace pawl::supervisor {

// The key, then each credential as NAME=value and NUL, then one more NUL. Bytes that were cut lack the last NUL.
Result<std::string> to_bytes(const HandedOver& handed_over) {
  PAWL_CHECK(handed_over.key.size() == kHashKeySize);
  std::string out = handed_over.key;
  for (const auto& [name, value] : handed_over.credentials) {
    out.append(name).append("=").append(value);
    out += '\0';
  }
  out += '\0';
  if (out.size() <= os::kInputBytesMax) return out;
  return fail(ErrorKind::kExhausted,
              "the credentials of a step have more than " + std::to_string(os::kInputBytesMax) + " bytes");
}

Result<HandedOver> handed_over_in(std::string_view bytes) {
  const auto invalid = [] {
    return fail(ErrorKind::kInvalid, "what came through stdin is not what a supervisor is started with");
  };
  if (bytes.size() <= kHashKeySize) return invalid();
  HandedOver out{.key = std::string(bytes.substr(0, kHashKeySize))};
  bytes.remove_prefix(kHashKeySize);
  while (bytes.front() != '\0') {
    const auto end = bytes.find('\0');
    const auto entry = bytes.substr(0, end);
    const auto name_end = entry.find('=');
    if (end == std::string_view::npos || end + 1 == bytes.size() || name_end == std::string_view::npos)
      return invalid();
    out.credentials.emplace_back(entry.substr(0, name_end), entry.substr(name_end + 1));
    bytes.remove_prefix(end + 1);
  }
  if (bytes.size() > 1) return invalid();
  return out;
}

}  // namespace pawl::supervisor
