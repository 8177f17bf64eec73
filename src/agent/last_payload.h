// The payload that was stored last, with its chunks: what the next one shares with it is found by comparing
// bytes, some ten times faster than by cutting and hashing. A detail of this room.
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

  // Goes through another payload beside it.
  class Follower {
   public:
    explicit Follower(const LastPayload& last) : last_(last) {}
    // The chunk that begins at `offset`, where `rest` begins, when it is the one that is expected there.
    std::optional<Piece> expected(std::size_t offset, std::string_view rest);
    // What it was instead, as was found by cutting: when the last payload had it too, its next ones follow.
    void found(std::size_t offset, std::int64_t chunk);

   private:
    const LastPayload& last_;
    std::size_t next_ = 0;      // of last_.pieces_
    std::ptrdiff_t shift_ = 0;  // from the last payload's offsets to the other's
  };

 private:
  std::string bytes_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> offsets_;                      // of pieces_
  std::unordered_map<std::int64_t, std::size_t> places_;  // in pieces_, by chunk
};

}  // namespace pawl::agent
