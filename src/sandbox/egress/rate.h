// How often something may happen: a bucket of tokens that fills again with time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace pawl::sandbox::egress {

// Not thread-safe. `burst` at once, and `per_second` in the long run.
class Rate {
 public:
  Rate(std::int64_t per_second, std::int64_t burst)
      : per_second_(per_second), full_(burst * kToken), level_(full_) {}

  // False: one too many. It takes nothing then, so that who keeps trying is let through at the rate.
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
  static constexpr std::int64_t kToken =
      1'000'000;  // a microsecond brings per_second_ of these: no fractions
  const std::int64_t per_second_, full_;
  std::int64_t level_;
  MonoTime last_;  // of no meaning while the bucket is full, as it is at first
};

}  // namespace pawl::sandbox::egress
