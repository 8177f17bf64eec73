#include <string>
#include <string_view>

#include "secrets/redact.h"

namespace pawl::secrets {
namespace {

// A line is cut only where half of kPendingMax encodes that many bytes. Fewer, between escapes of any size,
// could be a part of a secret.
constexpr std::size_t kPlainMin = 8 << 10;
constexpr char kDropped[] = "<dropped: the rest of a line, over 64 KiB, most of it escapes>";

}  // namespace

std::string Redactor::Stream::take(std::string_view bytes) {
  pending_ += bytes;
  if (drops_ && !end_drop()) return {};
  std::size_t cut = redactor_->sure(pending_);
  if (pending_.size() > kPendingMax) {
    // No secret has that many bytes, so part of a secret can only be at the end: the last half is held back.
    const std::size_t least = pending_.size() - kPendingMax / 2;
    drops_ = cut < least && redactor_->has_few_bytes_after(pending_, least, kPlainMin);
    if (cut < least && !drops_) cut = redactor_->cut_near(pending_, least);
  }
  if (cut == 0 && !drops_) return {};
  std::string out = redactor_->redact(std::string_view(pending_).substr(0, cut));
  pending_.erase(0, cut);
  if (!drops_) return out;
  end_drop();
  return out + kDropped;
}

// Drops the rest of a line; true at its end. The soft end of a line is not its end.
bool Redactor::Stream::end_drop() {
  for (std::size_t at = 0; (at = pending_.find('\n', at)) != std::string::npos; ++at) {
    const std::string_view line(pending_.data(), at);
    if (line.ends_with('=') || line.ends_with("=\r")) continue;
    pending_.erase(0, at);
    drops_ = false;
    return true;
  }
  constexpr std::size_t kSoftEnd = 2;
  if (pending_.size() > kSoftEnd) pending_.erase(0, pending_.size() - kSoftEnd);
  return false;
}

std::string Redactor::Stream::finish() {
  std::string out = drops_ ? "" : redactor_->redact(pending_);
  pending_.clear();
  return out;
}

Result<std::string_view> RedactedSource::next() {
  while (at_ == given_.size() && !over_) {
    PAWL_TRY(const auto piece, source_.next());
    over_ = piece.empty();
    given_ = over_ ? stream_.finish() : stream_.take(piece);
    at_ = 0;
  }
  const auto piece = std::string_view(given_).substr(at_, kPieceBytes);
  at_ += piece.size();
  return piece;
}

}  // namespace pawl::secrets
