// The last stored payload with its chunks. The parts that the next payload shares with it are found by a
// comparison of bytes, about ten times faster than by cutting and hashing. A detail of this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pawl::agent {

struct Piece {
  std::int64_t chunk = 0;
  std::size_t size = 0;
};

class LastPayload {
 public:
  LastPayload() = default;
  LastPayload(std::string bytes, const std::vector<Piece>& pieces);
  bool has(std::int64_t chunk) const { return places_.contains(chunk); }

  // Walks through another payload in parallel with the last payload.
  class Follower {
   public:
    explicit Follower(const LastPayload& last) : last_(last) {}
    // The chunk at `offset`, where `rest` begins, if the expected chunk of the last payload is there.
    std::optional<Piece> expected(std::size_t offset, std::string_view rest);
    // Records the chunk that cutting found at `offset`. If the last payload contains it, the chunks after it
    // are expected next.
    void found(std::size_t offset, std::int64_t chunk);

   private:
    const LastPayload& last_;
    std::size_t next_ = 0;      // index in last_.pieces_
    std::ptrdiff_t shift_ = 0;  // from the last payload's offsets to the other's
  };

 private:
  std::string bytes_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> offsets_;                      // offsets in pieces_
  std::unordered_map<std::int64_t, std::size_t> places_;  // index in pieces_, by chunk
};

}  // namespace pawl::agent
