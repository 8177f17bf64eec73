// Random numbers from the system, and ids made from them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"

namespace pawl::os {

class Random {  // thread-safe
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<unsigned char> out) = 0;
};

class SystemRandom final : public Random {
 public:
  void fill(std::span<unsigned char> out) override;  // getrandom(2)
};

// In [0, bound), uniform up to a bias below 2^-30. REQUIRES: 0 < bound < 2^33.
std::int64_t random_below(Random& random, std::int64_t bound);

// 128 bits as lower-case hexadecimal digits.
std::string random_word(Random& random);

// RFC 9562, version 7: 48 bits of milliseconds, then random bits. Text order is the order of creation, to the
// millisecond.
std::string uuid7(WallTime now, Random& random);

}  // namespace pawl::os
