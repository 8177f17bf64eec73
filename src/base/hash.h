// BLAKE3-256 as 64 lower-case hexadecimal digits, as `b3sum` prints it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pawl {

constexpr std::size_t kHashHexSize = 64;
// The prev_hash of the first row of a chain.
inline constexpr std::string_view kZeroHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

std::string blake3_hex(std::string_view bytes);
std::string blake3_bytes(std::string_view bytes);             // the same hash as 32 raw bytes
bool has_hash(std::string_view bytes, std::string_view hex);  // blake3_hex(bytes) == hex, but faster
bool is_hash(std::string_view text);                          // 64 lower-case hexadecimal digits

constexpr std::size_t kHashKeySize = 32;

// Hashes input that does not fit in memory. Not thread-safe.
class Hasher {
 public:
  Hasher();
  // BLAKE3's keyed mode. Without the key the hash cannot be computed. REQUIRES: `key` has kHashKeySize bytes.
  explicit Hasher(std::string_view key);
  ~Hasher();
  void update(std::string_view bytes);
  std::string hex() const;  // the hash of all bytes so far

 private:
  struct State;  // spares other files the header blake3.h
  std::unique_ptr<State> state_;
};

// The value of a hexadecimal digit, lower-case or a capital; -1 for any other character.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_lower_hex(std::string_view text);  // only 0 to 9 and a to f, as to_hex() writes them

std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view hex);  // REQUIRES: a text of to_hex()

}  // namespace pawl
