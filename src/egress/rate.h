// Limits how often an event may happen: a token bucket that refills with time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace pawl::egress {

// Allows `burst` events at once and `per_second` in the long run. Not thread-safe.
class Rate {
 public:
  Rate(std::int64_t per_second, std::int64_t burst)
      : per_second_(per_second), full_(burst * kToken), level_(full_) {}

  // False: one event too many. It takes no token then, so a caller that keeps trying is served at the rate.
  bool take(MonoTime now) {
    const std::int64_t passed =
        std::clamp<std::int64_t>(now.micros - last_.micros, 0, full_ / per_second_ + 1);
    level_ = std::min(full_, level_ + passed * per_second_);
    last_ = std::max(last_, now);
    if (level_ < kToken) return false;
    level_ -= kToken;
    return true;
  }

 private:
  // Units of one token. A microsecond adds per_second_ of them, so there are no fractions.
  static constexpr std::int64_t kToken = 1'000'000;
  const std::int64_t per_second_, full_;
  std::int64_t level_;
  MonoTime last_;  // without meaning while the bucket is full, as at first
};

}  // namespace pawl::egress
