#include "gates/reading/lines.h"

#include <algorithm>

#include "base/escapes.h"

namespace pawl::gates {

bool Lines::next(std::string_view& line) {
  line_.clear();
  for (bool begun = false;; begun = true) {
    if (piece_.empty()) {
      auto piece = source_.next();
      if (!piece) {
        status_ = std::unexpected(std::move(piece).error());
        return false;
      }
      piece_ = *piece;
      if (piece_.empty()) {  // a last line without a line end counts as a line
        if (!begun) return false;
        break;
      }
    }
    const std::size_t end = piece_.find('\n');
    const auto part = piece_.substr(0, end);
    line_ += part.substr(0, kLineBytesMax - std::min(line_.size(), kLineBytesMax));
    piece_.remove_prefix(end == std::string_view::npos ? piece_.size() : end + 1);
    if (end != std::string_view::npos) break;
  }
  ++number_;
  // Runners colour their words even in a file when they are told to, and none of their words has an escape.
  if (line_.find('\x1b') != std::string::npos) line_ = without_colours(line_);
  if (line_.ends_with('\r')) line_.pop_back();
  line = line_;
  return true;
}

std::unexpected<Error> fail_at(const Lines& lines, std::string_view message) {
  Error error{.kind = ErrorKind::kInvalid,
              .message = "line " + std::to_string(lines.number()) + ": " + std::string(message)};
  error.row = lines.number();
  return std::unexpected(std::move(error));
}

}  // namespace pawl::gates
