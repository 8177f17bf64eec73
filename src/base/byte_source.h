// Bytes that come in pieces, so that the reader of a large file needs memory for only one piece.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace pawl {

class ByteSource {  // not thread-safe
 public:
  static constexpr std::size_t kPieceBytes = 64 << 10;

  virtual ~ByteSource() = default;
  // The next bytes, at most kPieceBytes, valid until the next call. Empty at the end.
  virtual Result<std::string_view> next() = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::string_view> next() override {
    const auto piece = std::string_view(bytes_).substr(at_, kPieceBytes);
    at_ += piece.size();
    return piece;
  }

 private:
  const std::string bytes_;
  std::size_t at_ = 0;
};

// All remaining bytes. The source limits their number.
inline Result<std::string> read_all(ByteSource& source) {
  for (std::string out;;) {
    PAWL_TRY(const auto piece, source.next());
    if (piece.empty()) return out;
    out += piece;
  }
}

}  // namespace pawl
