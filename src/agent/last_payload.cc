#include "agent/last_payload.h"

#include <utility>

namespace pawl::agent {

LastPayload::LastPayload(std::string bytes, const std::vector<Piece>& pieces)
    : bytes_(std::move(bytes)), pieces_(pieces) {
  std::size_t offset = 0;
  for (const auto& piece : pieces_) {
    places_[piece.chunk] = offsets_.size();
    offsets_.push_back(offset);
    offset += piece.size;
  }
}

std::optional<Piece> LastPayload::Follower::expected(std::size_t offset, std::string_view rest) {
  const auto& offsets = last_.offsets_;
  const auto there = [&](std::size_t place) { return static_cast<std::ptrdiff_t>(offsets[place]) + shift_; };
  while (next_ < offsets.size() && there(next_) < static_cast<std::ptrdiff_t>(offset)) ++next_;
  if (next_ == offsets.size() || there(next_) != static_cast<std::ptrdiff_t>(offset)) return std::nullopt;
  const Piece& piece = last_.pieces_[next_];
  const auto bytes = std::string_view(last_.bytes_).substr(offsets[next_], piece.size);
  // The end of the payload, not a cut, ended its last piece. So that piece matches only at the other's end.
  const bool is_last = next_ + 1 == offsets.size();
  if (is_last ? rest != bytes : !rest.starts_with(bytes)) return std::nullopt;
  ++next_;
  return piece;
}

void LastPayload::Follower::found(std::size_t offset, std::int64_t chunk) {
  const auto place = last_.places_.find(chunk);
  if (place == last_.places_.end()) return;
  next_ = place->second + 1;
  shift_ = static_cast<std::ptrdiff_t>(offset) - static_cast<std::ptrdiff_t>(last_.offsets_[place->second]);
}

}  // namespace pawl::agent
