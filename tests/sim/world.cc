#include "sim/world.h"

namespace pawl::sim {

Dice::Dice(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    word = mixed ^ (mixed >> 31);
  }
}

std::uint64_t Dice::next() {
  const auto turned = [](std::uint64_t value, int by) { return (value << by) | (value >> (64 - by)); };
  const std::uint64_t result = turned(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = turned(state_[3], 45);
  return result;
}

void Dice::fill(std::span<unsigned char> out) {
  for (auto& byte : out) byte = static_cast<unsigned char>(next());
}

}  // namespace pawl::sim
