// Points in time as values. os/clock.h reads the clock.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl {

// Microseconds since the Unix epoch, UTC: for rows, leases and people.
struct WallTime {
  std::int64_t micros = 0;
  auto operator<=>(const WallTime&) const = default;
  WallTime plus_ms(std::int64_t ms) const { return {micros + ms * 1000}; }
};

// Microseconds since an arbitrary start (CLOCK_MONOTONIC): for durations and time-outs only.
struct MonoTime {
  std::int64_t micros = 0;
  auto operator<=>(const MonoTime&) const = default;
};

// Whole milliseconds from one time to another, rounded to 0; negative when `to` is the earlier one.
constexpr std::int64_t ms_between(WallTime from, WallTime to) { return (to.micros - from.micros) / 1000; }
constexpr std::int64_t ms_between(MonoTime from, MonoTime to) { return (to.micros - from.micros) / 1000; }

// RFC 3339, UTC, always with six digits of microseconds and 'Z': "2026-01-02T03:04:05.678901Z". Because of
// the fixed width, text order equals time order, which SQL relies on.
std::string rfc3339(WallTime time);
// Accepts exactly the format of rfc3339(). kInvalid otherwise.
Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace pawl
