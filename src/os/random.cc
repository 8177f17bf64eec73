#include "os/random.h"

#include <sys/random.h>

#include "base/error.h"
#include "base/hash.h"

namespace pawl::os {

void SystemRandom::fill(std::span<unsigned char> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    PAWL_CHECK(got > 0);  // cannot fail for small requests once the pool is ready (getrandom(2))
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::int64_t random_below(Random& random, std::int64_t bound) {
  PAWL_CHECK(bound > 0);
  std::array<unsigned char, 8> bytes{};
  random.fill(bytes);
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = value << 8 | byte;
  return static_cast<std::int64_t>(value % static_cast<std::uint64_t>(bound));  // biased by less than 2^-30
}

std::string random_word(Random& random) {
  std::array<unsigned char, 16> bytes{};
  random.fill(bytes);
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string uuid7(WallTime now, Random& random) {
  std::array<unsigned char, 16> bytes{};
  random.fill(bytes);
  const auto ms = static_cast<std::uint64_t>(now.micros / 1000);
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<unsigned char>(ms >> (8 * (5 - i)));
  bytes[6] = static_cast<unsigned char>(0x70 | (bytes[6] & 0x0F));
  bytes[8] = static_cast<unsigned char>(0x80 | (bytes[8] & 0x3F));
  std::string text = to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, 1, '-');
  return text;
}

}  // namespace pawl::os
