#include "os/clock.h"

#include <ctime>

#include "os/process.h"

namespace pawl::os {
namespace {
std::int64_t micros_of(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}
}  // namespace

WallTime SystemClock::wall() const { return {micros_of(CLOCK_REALTIME)}; }
MonoTime SystemClock::mono() const { return {micros_of(CLOCK_MONOTONIC)}; }

std::string SystemClock::mono_id() const {
  static const std::string id = boot_id() == kNoBoot ? "" : boot_id();
  return id;
}

void SystemClock::sleep_ms(std::int64_t ms) const {
  const timespec span{.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

std::int64_t SystemClock::utc_offset_seconds(WallTime at) const {
  const auto seconds = static_cast<std::time_t>(at.micros / 1'000'000);
  std::tm local{};
  return localtime_r(&seconds, &local) == nullptr ? 0 : local.tm_gmtoff;
}

}  // namespace pawl::os
