#include <algorithm>
#include <optional>
#include <string_view>

#include "base/escapes.h"
#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Whether the byte at `at`, 0x80 to 0x9F, is one of a longer character in UTF-8, which is not of the set C1.
bool is_of_a_character(std::string_view text, std::size_t at) {
  constexpr std::size_t kCharacterMax = 4;
  for (std::size_t back = 1; back < kCharacterMax && back <= at; ++back) {
    const unsigned char lead = byte_at(text, at - back);
    if (lead < 0x80) return false;
    if (lead < 0xC0) continue;
    const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == 0xC2 || back >= size || at - back + size > text.size()) return false;
    const auto rest = text.substr(at - back + 1, size - 1);
    return std::ranges::all_of(rest, [](unsigned char c) { return c >= 0x80 && c < 0xC0; });
  }
  return false;
}

// The first byte of the character of C1 at `at`: 0xC2 before it is the rest of its spelling in UTF-8.
std::size_t begin_of_c1(std::string_view text, std::size_t at) {
  return at > 0 && byte_at(text, at - 1) == 0xC2 ? at - 1 : at;
}

struct Sequence {
  Range whole;
  std::optional<Range> string;  // what stands in it
};

// The next sequences in a text, one after the other.
class Sequences {
 public:
  explicit Sequences(std::string_view text) : text_(text) {}

  std::optional<Sequence> next(std::size_t from) {
    for (std::size_t at = from; at < text_.size(); ++at) {
      at += first_of(text_.substr(at), kTerminal);
      if (at == text_.size()) break;
      if (text_[at] == '\x1b') return of_escape(at);
      if (!is_of_a_character(text_, at)) return of_c1(at);
    }
    return std::nullopt;
  }

 private:
  Sequence of_escape(std::size_t at) {
    if (at + 1 < text_.size() && std::string_view("]PX^_").find(text_[at + 1]) != std::string_view::npos)
      return string({.begin = at, .end = at + 2});
    return {.whole = {.begin = at, .end = at + escape_bytes(text_.substr(at))}, .string = {}};
  }

  Sequence of_c1(std::size_t at) {
    const Range first = {.begin = begin_of_c1(text_, at), .end = at + 1};
    if (std::string_view("\x90\x98\x9d\x9e\x9f").find(text_[at]) != std::string_view::npos &&
        is_ended(at + 1))
      return string(first);
    return {.whole = {.begin = first.begin, .end = text_[at] == '\x9b' ? end_of_csi(first.end) : first.end},
            .string = {}};
  }

  std::size_t end_of_csi(std::size_t at) const {
    const auto run = [&](char from, char to, std::size_t most) {
      for (; most > 0 && at < text_.size() && text_[at] >= from && text_[at] <= to; --most) ++at;
    };
    run('0', '?', text_.size());
    run(' ', '/', text_.size());
    run('@', '~', 1);
    return at;
  }

  // The offset of what ends a control string that goes on at `at`. An end of the line ends it, too: a string
  // must not hide the next line.
  std::size_t end_of_string(std::size_t at) const {
    for (; at < text_.size(); ++at) {
      at = std::min(text_.find_first_of("\a\n\x18\x1a\x1b\x9c", at), text_.size());
      if (at == text_.size() || text_[at] != '\x9c' || !is_of_a_character(text_, at)) break;
    }
    return at;
  }

  // Whether a string ends in its line. A byte of another encoding looks like a beginning, and has no end.
  bool is_ended(std::size_t at) {
    if (at < open_until_) return false;
    const std::size_t end = end_of_string(at);
    if (end < text_.size() && text_[end] != '\n') return true;
    open_until_ = end;
    return false;
  }

  Sequence string(const Range& begin) const {
    const std::size_t end = end_of_string(begin.end);
    Sequence out = {.whole = {.begin = begin.begin, .end = end},
                    .string = Range{.begin = begin.end, .end = end}};
    if (end == text_.size() || text_[end] == '\n') return out;
    if (text_[end] == '\x9c') out.string->end = std::max(begin.end, begin_of_c1(text_, end));
    if (text_[end] != '\x1b')
      out.whole.end = end + 1;
    else if (text_.substr(end).starts_with("\x1b\\"))
      out.whole.end = end + 2;
    return out;
  }

  std::string_view text_;
  std::size_t open_until_ = 0;  // no string ends before this offset
};

}  // namespace

bool has_terminal(std::string_view text) {
  return has_unplain(text) && first_of(text, kTerminal) < text.size();
}

Decoded without_terminal(std::string_view text) {
  Decoded out(text);
  Sequences sequences(text);
  while (const auto next = sequences.next(out.at())) {
    out.keep(next->whole.begin - out.at());
    out.replace(next->whole.end - next->whole.begin, "");
  }
  out.keep(out.rest().size());
  return out;
}

Decoded strings_of_terminal(std::string_view text) {
  Decoded out(text);
  Sequences sequences(text);
  for (std::size_t at = 0; const auto next = sequences.next(at);) {
    at = next->whole.end;
    if (!next->string || next->string->begin == next->string->end) continue;
    out.replace(next->string->begin - out.at(), "\n");
    out.keep(next->string->end - next->string->begin);
  }
  return out;
}

}  // namespace pawl::secrets
