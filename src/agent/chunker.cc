#include "agent/chunker.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace pawl::agent {
namespace {

// SplitMix64 (Steele et al., "Fast splittable pseudorandom number generators", 2014): 256 numbers without a
// hidden choice.
constexpr std::array<std::uint64_t, 256> gear_table() {
  std::array<std::uint64_t, 256> out{};
  std::uint64_t state = 0x7061776c;  // "pawl"
  for (auto& number : out) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    number = z ^ (z >> 31);
  }
  return out;
}

constexpr auto kGear = gear_table();

// The upper bits of a gear hash depend on the most bytes: the last 64.
constexpr std::uint64_t upper_bits(int bits) { return ~std::uint64_t{0} << (64 - bits); }
// Two bits more than log2(kChunkBytesNormal) before that size, two fewer after it.
constexpr std::uint64_t kMaskBefore = upper_bits(15), kMaskBehind = upper_bits(11);

}  // namespace

std::size_t first_chunk(std::string_view rest) {
  const std::size_t end = std::min(rest.size(), kChunkBytesMax);
  if (end <= kChunkBytesMin) return end;
  std::uint64_t hash = 0;
  std::size_t at = kChunkBytesMin;
  for (const std::size_t normal = std::min(end, kChunkBytesNormal); at < normal; ++at) {
    hash = (hash << 1) + kGear[static_cast<unsigned char>(rest[at])];
    if ((hash & kMaskBefore) == 0) return at + 1;
  }
  for (; at < end; ++at) {
    hash = (hash << 1) + kGear[static_cast<unsigned char>(rest[at])];
    if ((hash & kMaskBehind) == 0) return at + 1;
  }
  return end;
}

}  // namespace pawl::agent
