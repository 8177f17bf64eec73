#include "workspace/git/text_filter.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::workspace {
namespace {

constexpr std::string_view kIdStart = "$Id:";
constexpr std::size_t kIdBytesMax = 64 << 20;  // For the text from "$Id:" to the end of the line or the id.

constexpr unsigned char kEndOfFile = 0x1A;  // CP/M and DOS mark the end of a text so.

bool is_printable(unsigned char c) {
  return (c >= 0x20 && c != 0x7F) || c == '\b' || c == '\t' || c == '\f' || c == 0x1B;
}

// The length of the longest end of `text` with which a "$Id:" can begin.
std::size_t begun(std::string_view text) {
  for (std::size_t size = std::min(text.size(), kIdStart.size() - 1); size > 0; --size)
    if (text.ends_with(kIdStart.substr(0, size))) return size;
  return 0;
}

}  // namespace

void TextCounts::add(std::string_view piece) {
  for (const char each : piece) {
    const auto c = static_cast<unsigned char>(each);
    if (c == '\n') {
      if (last_ == '\r') ++crlf_;
    } else {
      if (last_ == '\r') ++lone_cr_;
      if (c == '\0') ++nul_;
      if (c != '\r') ++(is_printable(c) ? printable_ : nonprintable_);
    }
    last_ = c;
  }
  if (has_id_) return;
  const std::string seam = tail_ + std::string(piece.substr(0, kIdStart.size() - 1));
  has_id_ = seam.find(kIdStart) != seam.npos || piece.find(kIdStart) != piece.npos;
  const std::string_view end = piece.size() < kIdStart.size() ? std::string_view(seam) : piece;
  tail_ = std::string(end.substr(end.size() - begun(end)));
}

bool TextCounts::is_binary() const {
  if (lone_cr_ > 0 || last_ == '\r' || nul_ > 0) return true;
  return printable_ / 128 < nonprintable_ - (last_ == kEndOfFile ? 1 : 0);
}

Result<std::string> TextFilter::add(std::string_view piece) {
  if (held_.size() > kIdBytesMax)
    return fail(ErrorKind::kExhausted,
                fmt::format("its \"$Id:\" has no end within {} bytes, and it has the attribute `ident`",
                            kIdBytesMax));
  std::string text;
  if (drops_cr_) {
    text.reserve(piece.size() + 1);
    for (const char c : piece) {
      if (has_cr_ && c != '\n') text += '\r';
      has_cr_ = c == '\r';
      if (!has_cr_) text += c;
    }
    piece = text;
  }
  return collapses_ids_ ? collapse(piece) : std::string(piece);
}

std::string TextFilter::end() {
  std::string out;
  if (has_cr_) out = collapses_ids_ ? collapse("\r") : "\r";
  return out + held_;
}

std::string TextFilter::collapse(std::string_view text) {
  std::string out;
  held_ += text;
  std::size_t from = 0;  // All before it is in `out`.
  for (;;) {
    if (!is_in_id_) {
      const auto at = held_.find(kIdStart, from);
      if (at == held_.npos) break;
      out.append(held_, from, at - from);
      from = at;
      is_in_id_ = true;
      searched_ = at + kIdStart.size();
    }
    const auto end = held_.find_first_of("$\n", searched_);
    if (end == held_.npos) break;
    is_in_id_ = false;
    const bool is_id = held_[end] == '$';
    if (is_id)
      out += "$Id$";
    else
      out.append(held_, from, end - from);
    from = is_id ? end + 1 : end;
  }
  if (!is_in_id_) {
    const std::size_t rest = held_.size() - begun(std::string_view(held_).substr(from));
    out.append(held_, from, rest - from);
    from = rest;
  }
  held_.erase(0, from);
  searched_ = held_.size();
  return out;
}

}  // namespace pawl::workspace
