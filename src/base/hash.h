// BLAKE3-256, as 64 lower-case hexadecimal digits: what `b3sum` prints.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pawl {

constexpr std::size_t kHashHexSize = 64;
// The prev_hash of a chain's first row.
inline constexpr std::string_view kZeroHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

std::string blake3_hex(std::string_view bytes);
std::string blake3_bytes(std::string_view bytes);             // the same 32 bytes, raw
bool has_hash(std::string_view bytes, std::string_view hex);  // the same as blake3_hex(bytes) == hex, faster
bool is_hash(std::string_view text);                          // 64 lower-case hexadecimal digits

constexpr std::size_t kHashKeySize = 32;

// For input that does not fit in memory. Not thread-safe.
class Hasher {
 public:
  Hasher();
  // BLAKE3's keyed mode: without the key, which has kHashKeySize bytes, nobody makes the same hash.
  explicit Hasher(std::string_view key);
  ~Hasher();
  void update(std::string_view bytes);
  std::string hex() const;  // of everything so far

 private:
  struct State;  // keeps blake3.h out of every file that hashes
  std::unique_ptr<State> state_;
};

std::string to_hex(std::string_view bytes);

}  // namespace pawl
