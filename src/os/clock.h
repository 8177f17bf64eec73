// Time from the outside world. Whoever needs the time takes a Clock; only tests and main() choose which.
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
  // Names what mono() counts from: those who read the same name share it, also in other processes.
  virtual std::string mono_id() const = 0;
  // Returns after `ms`, or earlier when a signal arrives.
  virtual void sleep_ms(std::int64_t ms) const = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  MonoTime mono() const override;
  std::string mono_id() const override;  // the boot's id
  void sleep_ms(std::int64_t ms) const override;
};

}  // namespace pawl::os
