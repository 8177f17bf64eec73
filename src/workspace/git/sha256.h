// SHA-256 of content that comes in pieces. Git LFS, and git in a SHA-256 repository, name contents by it. A
// detail of this room.
#pragma once

#include <sodium.h>

#include <string>
#include <string_view>

#include "base/hash.h"

namespace pawl::workspace {

class Sha256 {
 public:
  Sha256() { crypto_hash_sha256_init(&state_); }
  void add(std::string_view bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  // The hash of everything that was added, as 64 hexadecimal digits. REQUIRES: this is the last call.
  std::string hex() {
    std::string hash(crypto_hash_sha256_BYTES, '\0');
    crypto_hash_sha256_final(&state_, reinterpret_cast<unsigned char*>(hash.data()));
    return to_hex(hash);
  }

 private:
  crypto_hash_sha256_state state_;
};

}  // namespace pawl::workspace
