// Decodes other spellings of a text: escapes of JSON, C, shells, URLs and XML, colours of terminals, quotes,
// base64 and hexadecimal digits. A detail of this room. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::secrets {

constexpr std::size_t kPackedHintMax = 6;  // bytes of a secret in the search for digits
constexpr int kRoundsMax = 5;              // levels of escapes within escapes

struct Range {
  std::size_t begin = 0, end = 0;
};

// A decoded text, and the origin of each of its bytes.
class Decoded {
 public:
  // `begin`: where in the original the first byte comes from.
  explicit Decoded(std::string_view original, std::size_t begin = 0) : original_(original), at_(begin) {}

  const std::string& text() const { return text_; }
  bool changed() const { return changed_; }
  // The range in the original of `size` bytes of text(). REQUIRES: size > 0, and the bytes exist.
  Range origin(std::size_t offset, std::size_t size) const;

  // Appends the next `size` bytes of the original: as they are, or as `bytes`.
  void keep(std::size_t size);
  void replace(std::size_t size, std::string_view bytes);
  void put(char c);  // replaces one byte by one
  std::size_t at() const { return at_; }
  std::string_view rest() const { return original_.substr(at_); }

 private:
  struct Step {
    std::size_t out, in;
    std::size_t unit;  // 0: each byte comes from one byte; else all come from this many
  };
  void begin_step(std::size_t unit);

  std::string_view original_;
  std::size_t at_;
  std::string text_;
  std::vector<Step> steps_;
  bool changed_ = false;
};

// A text and its decoded forms, each made from the one before.
class Views {
 public:
  explicit Views(std::string_view text) : last_(text) {}

  std::string_view last() const { return last_; }
  // False: the text did not change, and the view is left out.
  bool add(Decoded view);
  // The range in the text of `size` bytes of last(). REQUIRES: like Decoded::origin().
  Range origin(std::size_t offset, std::size_t size) const;

 private:
  std::string_view last_;
  std::deque<Decoded> views_;
};

// The spellings that decode() decodes in each round, in this order.
enum class Spelling : unsigned char { kTerminal, kInvisible, kJoints, kEscapes, kQuotedPrintable };

// Decodes all spellings except digits and quotes, until a round has no effect, at most `rounds` times. Calls `before`
// for each spelling that views.last() may have, with the rounds that are left; and `after` for each new view.
void decode(Views& views, int rounds, const std::function<void(Spelling, int)>& before,
            const std::function<void()>& after);

// Decodes one round of the escapes that begin with \, % and &: JSON, C, Python, JavaScript, shells; URLs and
// forms; XML and HTML. Other bytes after these characters stay.
Decoded unescaped(std::string_view text);

// A text without the escape sequences of terminals, and what stands in their control strings (links, titles,
// the clipboard), each in a line. Sequences begin with ESC, or with one character of the set C1: as a byte, or
// in UTF-8. has_terminal() is faster, and says whether `text` may have any.
bool has_terminal(std::string_view text);
Decoded without_terminal(std::string_view text);
Decoded strings_of_terminal(std::string_view text);

// of_quoted_printable() decodes the escapes and the soft ends of lines of quoted-printable (RFC 2045, 6.7).
// has_quoted_printable() is faster, and says whether `text` may have any.
bool has_quoted_printable(std::string_view text);
Decoded of_quoted_printable(std::string_view text);

// Removes invisible characters: control characters, also the zeros that UTF-16 adds to ASCII, and characters
// without a width. Tabs, ends of lines and backspaces stay. has_invisible() is faster.
bool has_invisible(std::string_view text);
Decoded without_invisible(std::string_view text);

// Removes what a secret in parts may have in between: \r and \b, expansions of shells that are empty (`${x:-}`,
// `$()`, `$@`), and joints of strings in one line (`"a" "b"`). Honest text has all of them, too: only for a search
// for shapes and for named values. has_fillers() is faster, and says whether `text` may have any.
bool has_fillers(std::string_view text);
Decoded without_fillers(std::string_view text);

// How often the kind of character changes within `digits` as it does in no word.
std::size_t turns_in(std::string_view digits);

// Removes the ends of lines that wrap base64 or hexadecimal digits, and the indentation after them.
Decoded unwrapped(std::string_view text);

// Removes quotes, `$`, backslashes and NUL bytes, and replaces each + by a space: what shells, SQL, CSV, forms and
// UTF-16 add to a value. Only for comparison with another text that was treated the same.
Decoded unquoted(std::string_view text);

// Removes what stands between the parts of a value: joints of CDATA sections and comments of XML, and bytes that
// are struck over by the next one (X\b). has_joints() is faster, and says whether `text` may have any.
bool has_joints(std::string_view text);
Decoded without_joints(std::string_view text);

// Removes each backslash before a byte: shells quote any byte so, also `\b` and `\7`, which are escapes
// elsewhere. has_backslashed() is faster, and says whether `text` has some in a row.
bool has_backslashed(std::string_view text);
Decoded without_backslashes(std::string_view text);

// The line of `text` that begins at `begin`, and the lines that continue its strings, without the joints
// between strings: `''`, `" + "`, `' . '`, a quote at the end of a line and one in the next.
Decoded joined(std::string_view text, std::size_t begin);

// The form in which values are compared: decode(), then unquoted().
std::string plainest(std::string_view text);

// The offset from which on the other spellings of `text` encode at least `wanted` bytes; nullopt when all of
// it encodes fewer. Of the zeros of a long number only the last count.
std::optional<std::size_t> before_plain(std::string_view text, std::size_t wanted);

// Whether digits that may contain an encoded text stand directly after the beginning of an escape, which may
// take some of them.
bool has_digits_behind_escape(std::string_view text);

// The next run of digits in `text`, at `from` or later, that may contain an encoded text.
std::optional<Range> next_packed(std::string_view text, std::size_t from);
// Decodes the runs of digits in `text`: base64 and base64url from each of the four digits at which it may
// begin, hexadecimal digits with or without separators.
std::vector<Decoded> unpacked(std::string_view text);

// Whether the run `digits` encodes a text with another run of digits. Much faster than unpacked().
bool may_nest(std::string_view digits);

// Digits of base64 in lines of any width, each after the same prefix ("> ", "+", "# "): without the ends and
// prefixes of these lines. Only where unwrapped() does not join the lines.
std::vector<Decoded> stacked(std::string_view text);

// Groups of base64 digits of one width, without the blanks in between.
std::vector<Decoded> grouped(std::string_view text);

// The bytes of dumps (`xxd`, `hexdump -C`, `od -tx1`, `od -x`), without the columns with offsets and text, and
// those of lists of numbers.
std::vector<Decoded> dumped(std::string_view text);
// The bytes of lists of numbers that have the same bytes between each two, with what says their base and type:
// `0o132, 0o161`, `90u8, 113u8`, `chr(90)+chr(113)`. dumped() calls it.
std::vector<Decoded> listed(std::string_view text);
// Whether `line` ends in such a number and a separator.
bool ends_in_a_list(std::string_view line);
// Whether `line` may be one of several lines of a dump or of a list.
bool is_of_a_dump(std::string_view line);

// Whether `line`, without its end, ends within digits, a string or an escape that may continue in the next
// line.
bool may_go_on(std::string_view line);

// The line, and those after it in which the value of its name stands (opens_value() of shapes.h).
Range with_value(std::string_view text, Range line);

// Where `text` may be cut: after the last end of a line. The cut is not within a key that has not ended, nor
// within digits that may continue.
std::size_t safe_cut(std::string_view text);

// An RE2 pattern of the first digits of an encoded secret: base64 or hexadecimal digits of the beginnings of
// shapes and of these values. Values are also searched in UTF-16, as JSON, as base64 of base64, as base64 of
// hexadecimal digits, and the other way round.
std::string packed_pattern(const std::vector<std::string>& values);

}  // namespace pawl::secrets
