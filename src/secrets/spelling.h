// Other ways to write a text down, undone: escapes of JSON, C, shells, URLs and XML, colours of terminals,
// quotes, base64 and hexadecimal digits. A detail of this room. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::secrets {

constexpr int kRoundsMax = 5;  // of escapes within escapes

struct Range {
  std::size_t begin = 0, end = 0;
};

// A text that was decoded, and where each byte of it came from.
class Decoded {
 public:
  // `begin`: where in the original the first byte comes from.
  explicit Decoded(std::string_view original, std::size_t begin = 0) : original_(original), at_(begin) {}

  const std::string& text() const { return text_; }
  bool changed() const { return changed_; }
  // What `size` bytes of text() were in the original. REQUIRES: size > 0, and they are there.
  Range origin(std::size_t offset, std::size_t size) const;

  // The next `size` bytes of the original: as they are, or as `bytes`.
  void keep(std::size_t size);
  void replace(std::size_t size, std::string_view bytes);
  void put(char c);  // for one byte
  std::size_t at() const { return at_; }
  std::string_view rest() const { return original_.substr(at_); }

 private:
  struct Step {
    std::size_t out, in;
    std::size_t unit;  // 0: a byte comes from a byte; else all of them from so many
  };
  void begin_step(std::size_t unit);

  std::string_view original_;
  std::size_t at_;
  std::string text_;
  std::vector<Step> steps_;
  bool changed_ = false;
};

// One round of the escapes that begin with \, % and &: JSON, C, Python, JavaScript, shells; URLs and forms;
// XML and HTML. An escape that is none stays.
Decoded unescaped(std::string_view text);

// Without the escape sequences of terminals, also those that begin with one character of the set C1.
Decoded uncoloured(std::string_view text);

// Without the escapes and the soft ends of lines of quoted-printable (RFC 2045, 6.7). Whether `text` may have
// any is answered sooner.
bool has_quoted_printable(std::string_view text);
Decoded of_quoted_printable(std::string_view text);

// Without the ends of lines that wrap base64 or hexadecimal digits, and the indentation behind them.
Decoded unwrapped(std::string_view text);

// Without quotes, backslashes and NUL bytes, and with a space for each +: what shells, SQL, CSV, forms and
// UTF-16 add to a value. Only for comparison with another text that this was done to.
Decoded unquoted(std::string_view text);

// The line of `text` that begins at `begin`, and those that go on with its strings, without what puts strings
// together: `''`, `" + "`, `' . '`, a quote at the end of a line and one in the next.
Decoded joined(std::string_view text, std::size_t begin);

// unquoted(), and the others above, until nothing changes.
std::string plainest(std::string_view text);

// The next run of digits in `text` that something may be packed in.
std::optional<Range> next_packed(std::string_view text, std::size_t from);
// What the runs of digits in `text` stand for: base64 and base64url from each of the four digits that it may
// begin at, hexadecimal digits with or without separators.
std::vector<Decoded> unpacked(std::string_view text);

// Digits of base64 in lines of one width, each behind the same prefix ("> ", "+", "# "): without the ends and
// prefixes of these lines. Only where unwrapped() does not join them.
std::vector<Decoded> stacked(std::string_view text);

// Whether `line`, without its end, ends within digits, a string or an escape that may go on in the next one.
bool may_go_on(std::string_view line);

// The digits that are there wherever `bytes` are in base64 or base64url, for each place that they may begin
// at.
std::vector<std::string> base64_cores(std::string_view bytes);
// An RE2 pattern of them in hexadecimal digits.
std::string hex_pattern(std::string_view bytes);

}  // namespace pawl::secrets
