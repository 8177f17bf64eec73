#include <algorithm>
#include <string_view>

#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::string_view kCdata = "]]><![CDATA[", kComment = "<!--", kCommentEnd = "-->";
constexpr std::size_t kPairsMin = 4;  // backslashes, each before one byte, in a row

bool is_pair(std::string_view text, std::size_t at) {
  return at + 1 < text.size() && text[at] == '\\' && !is(text[at + 1], kEnd);
}

// Finds joints in a text that is read once, from its beginning to its end.
class Joints {
 public:
  explicit Joints(std::string_view text) : text_(text) {}

  // The size of the joint at `at`, which is not less than in the call before; 0: there is none.
  std::size_t at(std::size_t at) {
    const auto rest = text_.substr(at);
    if (rest.size() > 1 && rest[1] == '\b' && rest[0] != '\b' && !is(rest[0], kEnd)) return 2;
    if (rest.starts_with(kCdata)) return kCdata.size();
    if (!rest.starts_with(kComment)) return 0;
    if (end_ < at + kComment.size()) end_ = text_.find(kCommentEnd, at + kComment.size());
    return end_ == std::string_view::npos ? 0 : end_ + kCommentEnd.size() - at;
  }

 private:
  std::string_view text_;
  std::size_t end_ = 0;  // the end of the next comment: no part of the text is searched twice for it
};

}  // namespace

bool has_joints(std::string_view text) {
  return text.find('\b') != std::string_view::npos || text.find(kCdata) != std::string_view::npos ||
         text.find(kComment) != std::string_view::npos;
}

Decoded without_joints(std::string_view text) {
  Decoded out(text);
  Joints joints(text);
  std::size_t kept = 0;  // up to here the text stays
  while (kept < text.size()) {
    const std::size_t size = joints.at(kept);
    if (size == 0) {
      ++kept;
      continue;
    }
    out.keep(kept - out.at());
    out.replace(size, "");
    kept = out.at();
  }
  out.keep(out.rest().size());
  return out;
}

bool has_backslashed(std::string_view text) {
  std::size_t pairs = 0;
  for (std::size_t at = text.find('\\'); at < text.size() && pairs < kPairsMin;) {
    const bool goes_on = is_pair(text, at);
    pairs = goes_on ? pairs + 1 : 0;
    at = goes_on && pairs < kPairsMin ? at + 2 : goes_on ? at : text.find('\\', at + 1);
  }
  return pairs >= kPairsMin;
}

Decoded without_backslashes(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    out.keep(std::min(out.rest().find('\\'), out.rest().size()));
    if (is_pair(out.rest(), 0))
      out.replace(2, out.rest().substr(1, 1));
    else if (!out.rest().empty())
      out.keep(1);
  }
  return out;
}

}  // namespace pawl::secrets
