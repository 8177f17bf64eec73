// Randomness from the outside world, and the ids made of it.
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

// Uniform in [0, bound). REQUIRES: 0 < bound < 2^33, or it is not.
std::int64_t random_below(Random& random, std::int64_t bound);

// 128 bits as lower-case hexadecimal digits.
std::string random_word(Random& random);

// RFC 9562, version 7: 48 bits of milliseconds, then random bits. Text order is creation order to the
// millisecond.
std::string uuid7(WallTime now, Random& random);

}  // namespace pawl::os
