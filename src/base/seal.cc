#include "base/seal.h"

namespace pawl {
namespace {

constexpr std::string_view kMember = ",\"seal\":\"", kEnd = "\"}";

}  // namespace

std::string Seal::of(std::string_view text) const {
  Hasher hasher(key_);
  hasher.update(name_);
  hasher.update(std::string_view("\0", 1));
  hasher.update(text);
  return hasher.hex();
}

bool Seal::holds(std::string_view seal, std::string_view text) const { return of(text) == seal; }

std::string Seal::key_of_part() const { return from_hex(of("key of a part")); }

std::string Seal::sealed(std::string object) const {
  object.pop_back();  // the closing brace
  const std::string seal = of(object);
  return object.append(kMember).append(seal).append(kEnd);
}

bool Seal::is_sealed(std::string_view text) const {
  constexpr std::size_t kTail = kMember.size() + kHashHexSize + kEnd.size();
  if (text.size() < kTail || !text.ends_with(kEnd)) return false;
  const auto object = text.substr(0, text.size() - kTail);
  const auto tail = text.substr(object.size());
  return tail.starts_with(kMember) && holds(tail.substr(kMember.size(), kHashHexSize), object);
}

}  // namespace pawl
