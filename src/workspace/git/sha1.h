// SHA-1 of content that comes in pieces. git names objects by it, and packs and indexes end with it. libgit2
// hashes whole objects only. A detail of this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::workspace {

using ObjectId = std::array<unsigned char, 20>;

class Sha1 {
 public:
  void add(std::string_view bytes);
  // The hash of everything that was added. REQUIRES: this is the last call.
  ObjectId end();

 private:
  static constexpr std::size_t kBlockBytes = 64;
  void block(const unsigned char* at);

  std::array<std::uint32_t, 5> state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<unsigned char, kBlockBytes> held_{};
  std::uint64_t size_ = 0;
};

std::string_view bytes_of(const ObjectId& id);
std::string hex_of(const ObjectId& id);

}  // namespace pawl::workspace
