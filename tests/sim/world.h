// The world of a simulated history: one seed, a clock that moves only on command, and one function that all
// calls pass. Any event can happen between any two calls. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/clock.h"
#include "os/random.h"

namespace pawl::sim {

// xoshiro256** by Blackman and Vigna (prng.di.unimi.it), seeded by splitmix64: the same numbers on every
// host.
class Dice final : public os::Random {
 public:
  explicit Dice(std::uint64_t seed);
  void fill(std::span<unsigned char> out) override;
  std::uint64_t next();
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }
  bool percent(std::int64_t chance) { return below(100) < chance; }
  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::uint64_t state_[4];
};

class SimClock final : public os::Clock {
 public:
  WallTime wall() const override { return {wall_micros_}; }
  MonoTime mono() const override { return {mono_micros_}; }
  std::string mono_id() const override { return "boot" + std::to_string(boots_); }
  void sleep_ms(std::int64_t ms) const override { advance_ms(ms); }
  std::int64_t utc_offset_seconds(WallTime /*at*/) const override { return 0; }
  void advance_ms(std::int64_t ms) const {
    wall_micros_ += ms * 1000;
    mono_micros_ += ms * 1000;
  }
  void reboot() {
    ++boots_;
    mono_micros_ = 1'000'000;
  }
  void jump_ms(std::int64_t ms) { wall_micros_ += ms * 1000; }  // the wall clock alone

 private:
  mutable std::int64_t wall_micros_ = 1'767'323'045'000'000, mono_micros_ = 1'000'000;
  std::int64_t boots_ = 0;
};

// Thrown through an executor, which makes no further call. Work that it had not committed never happened.
struct Crash {};

// A crash of all executors at once, which also loses unsynced data.
struct PowerLoss {};

// A broken invariant: ends the history.
struct Violation {
  std::string text;
};

class World {
 public:
  explicit World(std::uint64_t seed) : dice(seed) {}

  // Every call of an executor into the world passes here, before and after it is done. `disturb`, set by the
  // history, may crash the executor or let other events happen first.
  void pass(const std::string& call) {
    ++calls;
    if (disturb) disturb(call);
  }
  void tell(std::string event) {
    ++events;
    story.push_back(std::move(event));
  }
  static void require(bool holds, const std::string& what) {
    if (!holds) throw Violation{what};
  }

  // The value of a result that must exist.
  template <typename T>
  static T must(Result<T> result) {
    require(result.has_value(), result ? "" : "it can't be read: " + result.error().message);
    return *std::move(result);
  }

  Dice dice;
  SimClock clock;
  std::vector<std::string> story;
  std::int64_t events = 0, calls = 0;  // story lines; calls that passed
  std::function<void(const std::string&)> disturb;
  std::set<std::string> dead_owners;  // owners whose executor crashed or ended
  std::string current;                // the executor whose call passes
};

}  // namespace pawl::sim
