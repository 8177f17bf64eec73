// Time from the system. Code that needs the time takes a Clock; only tests and main() choose which one.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace pawl::os {

class Clock {  // thread-safe
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual MonoTime mono() const = 0;
  // Identifies the start that mono() counts from. Processes with the same id can compare their mono() values.
  // "": unknown.
  virtual std::string mono_id() const = 0;
  // Returns after `ms` milliseconds, or earlier when a signal arrives.
  virtual void sleep_ms(std::int64_t ms) const = 0;
  // The offset of this machine's local time from UTC at that time, in seconds.
  virtual std::int64_t utc_offset_seconds(WallTime at) const = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  MonoTime mono() const override;
  std::string mono_id() const override;  // the boot id
  void sleep_ms(std::int64_t ms) const override;
  std::int64_t utc_offset_seconds(WallTime at) const override;
};

}  // namespace pawl::os
