#include "base/hash.h"

#include <blake3.h>

#include <cassert>

#include "base/error.h"

namespace pawl {

namespace {
constexpr char kDigits[] = "0123456789abcdef";
}  // namespace

bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of(std::string_view(kDigits)) == std::string_view::npos;
}

std::string to_hex(std::string_view bytes) {
  std::string out(bytes.size() * 2, '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = kDigits[byte >> 4];
    out[2 * i + 1] = kDigits[byte & 15];
  }
  return out;
}

std::string from_hex(std::string_view hex) {
  PAWL_CHECK(hex.size() % 2 == 0 && is_lower_hex(hex));
  std::string out(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
  return out;
}

struct Hasher::State {
  blake3_hasher hasher;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { blake3_hasher_init(&state_->hasher); }
Hasher::Hasher(std::string_view key) : state_(std::make_unique<State>()) {
  assert(key.size() == kHashKeySize);
  blake3_hasher_init_keyed(&state_->hasher, reinterpret_cast<const unsigned char*>(key.data()));
}
Hasher::~Hasher() = default;
void Hasher::update(std::string_view bytes) {
  blake3_hasher_update(&state_->hasher, bytes.data(), bytes.size());
}

namespace {

std::string raw(const blake3_hasher& hasher) {
  std::string out(BLAKE3_OUT_LEN, '\0');
  blake3_hasher_finalize(&hasher, reinterpret_cast<unsigned char*>(out.data()), out.size());
  return out;
}

}  // namespace

std::string Hasher::hex() const { return to_hex(raw(state_->hasher)); }

bool has_hash(std::string_view bytes, std::string_view hex) {
  if (hex.size() != kHashHexSize) return false;
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, bytes.data(), bytes.size());
  unsigned char out[BLAKE3_OUT_LEN];
  blake3_hasher_finalize(&hasher, out, sizeof out);
  for (std::size_t i = 0; i < sizeof out; ++i)
    if (hex[2 * i] != kDigits[out[i] >> 4] || hex[2 * i + 1] != kDigits[out[i] & 15]) return false;
  return true;
}

std::string blake3_bytes(std::string_view bytes) {
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, bytes.data(), bytes.size());
  return raw(hasher);
}

std::string blake3_hex(std::string_view bytes) { return to_hex(blake3_bytes(bytes)); }

bool is_hash(std::string_view text) { return text.size() == kHashHexSize && is_lower_hex(text); }

}  // namespace pawl
