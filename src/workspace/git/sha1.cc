#include "workspace/git/sha1.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"

namespace pawl::workspace {
namespace {

std::uint32_t word_at(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

}  // namespace

// RFC 3174, section 6.2. The schedule has sixteen words, which are replaced in place.
void Sha1::block(const unsigned char* at) {
  std::array<std::uint32_t, 16> w{};
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = word_at(at + 4 * i);
  auto [a, b, c, d, e] = state_;
  const auto turn = [&](std::uint32_t mixed, std::uint32_t constant, std::size_t i) {
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + w[i % 16];
    // For turn i + 16.
    w[i % 16] = std::rotl(w[(i + 13) % 16] ^ w[(i + 8) % 16] ^ w[(i + 2) % 16] ^ w[i % 16], 1);
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  std::size_t i = 0;
  for (; i < 20; ++i) turn((b & c) | (~b & d), 0x5A827999, i);
  for (; i < 40; ++i) turn(b ^ c ^ d, 0x6ED9EBA1, i);
  for (; i < 60; ++i) turn((b & c) | (b & d) | (c & d), 0x8F1BBCDC, i);
  for (; i < 80; ++i) turn(b ^ c ^ d, 0xCA62C1D6, i);
  state_[0] += a;
  state_[1] += b;
  state_[2] += c;
  state_[3] += d;
  state_[4] += e;
}

void Sha1::add(std::string_view bytes) {
  const std::size_t held = size_ % kBlockBytes;
  size_ += bytes.size();
  if (held > 0) {
    const std::size_t taken = std::min(bytes.size(), kBlockBytes - held);
    std::memcpy(held_.data() + held, bytes.data(), taken);
    bytes.remove_prefix(taken);
    if (held + taken < kBlockBytes) return;
    block(held_.data());
  }
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes))
    block(reinterpret_cast<const unsigned char*>(bytes.data()));
  if (!bytes.empty()) std::memcpy(held_.data(), bytes.data(), bytes.size());
}

ObjectId Sha1::end() {
  const std::uint64_t bits = size_ * 8;
  const std::size_t held = size_ % kBlockBytes;
  const std::size_t zeros = (held < 56 ? 56 : 56 + kBlockBytes) - held;
  std::string tail(zeros, '\0');
  tail[0] = static_cast<char>(0x80);
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift);
  add(tail);
  ObjectId out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string_view bytes_of(const ObjectId& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

std::string hex_of(const ObjectId& id) { return to_hex(bytes_of(id)); }

}  // namespace pawl::workspace
