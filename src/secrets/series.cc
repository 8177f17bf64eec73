#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kSuffixMax = 5;  // bytes: `_u8`, `UL`
constexpr char kSuffixes[] = "_uUlLiInyYsS0123456789";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_word(char c) { return is_letter(c) || is(c, kDigit) || c == '_' || c == '.'; }

// A number of a byte, with what says its base and its type: `0x5a`, `0o132`, `0132`, `0b1011010`, `90u8`, `90L`.
struct Number {
  std::size_t begin = 0, end = 0;
  unsigned value = 0;
  bool is_typed = false;
};

struct Base {
  unsigned base = 10;
  std::size_t prefix = 0, most = 3;  // digits
};

Base base_of(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return {};
  switch (text[1]) {
    case 'x':
    case 'X':
      return {.base = 16, .prefix = 2, .most = 2};
    case 'o':
    case 'O':
      return {.base = 8, .prefix = 2, .most = 3};
    case 'b':
    case 'B':
      return {.base = 2, .prefix = 2, .most = 8};
    default:
      break;
  }
  const auto digits = text.substr(0, text.find_first_not_of("01234567"));
  constexpr std::size_t kOctalMin = 4;  // od writes columns with three digits: see dumps.cc
  return digits.size() == kOctalMin ? Base{.base = 8, .prefix = 1, .most = 3} : Base{};
}

std::optional<Number> whole_number_at(std::string_view text, std::size_t at) {
  constexpr unsigned kByteMax = 255;
  const Base base = base_of(text.substr(at));
  Number out{.begin = at, .end = at + base.prefix, .is_typed = base.prefix > 0};
  std::size_t digits = 0;
  for (; digits < base.most && out.end < text.size(); ++digits, ++out.end) {
    const int digit = hex_digit(text[out.end]);
    if (digit < 0 || digit >= static_cast<int>(base.base)) break;
    out.value = out.value * base.base + static_cast<unsigned>(digit);
  }
  if (digits == 0 || out.value > kByteMax) return std::nullopt;
  if (out.end < text.size() && is(text[out.end], kDigit)) return std::nullopt;
  for (std::size_t n = 0; n < kSuffixMax && out.end < text.size() &&
                          std::string_view(kSuffixes).find(text[out.end]) != std::string_view::npos;
       ++n, ++out.end)
    out.is_typed = true;
  return out.end < text.size() && is_of_word(text[out.end]) && text[out.end] != '.' ? std::nullopt
                                                                                    : std::optional(out);
}

bool is_gap_of_list(char c) { return is_blank(c) || is(c, kEnd); }

// Whether two separators differ in blanks and ends of lines only.
bool are_alike(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view text, std::size_t& at) {
    while (at < text.size() && is_gap_of_list(text[at])) ++at;
    return at < text.size() ? text[at++] : '\0';
  };
  for (std::size_t of_a = 0, of_b = 0;;) {
    const char one = next(a, of_a);
    if (one != next(b, of_b)) return false;
    if (one == '\0') return true;
  }
}

// Numbers with the same bytes between each two.
class Series {
 public:
  explicit Series(std::string_view text) : text_(text) {}

  // Adds the number when it continues the series. Else the series ends, and a new one begins.
  void add(const Number& number, std::vector<Decoded>& out) {
    const Number last = numbers_.empty() ? Number{} : numbers_.back();
    const bool is_near = !numbers_.empty() && number.begin - last.end <= kSeparatorsMax;
    const auto between = is_near ? text_.substr(last.end, number.begin - last.end) : std::string_view();
    if (!is_near || (numbers_.size() > 1 && !are_alike(between, separator_))) {
      end(out);
      if (is_near) start(last);
    }
    if (numbers_.size() == 1) separator_ = between;
    start(number);
  }

  // A list of bare numbers with commas is read in dumps.cc.
  void end(std::vector<Decoded>& out) {
    if (may_tell_ && (is_typed_ || !(are_alike(separator_, "") || are_alike(separator_, ",") ||
                                     are_alike(separator_, ";"))))
      out.push_back(bytes());
    numbers_.clear();
    printable_ = 0;
    may_tell_ = is_typed_ = false;
  }

 private:
  void start(const Number& number) {
    numbers_.push_back(number);
    printable_ = number.value >= ' ' && number.value != 0x7F ? printable_ + 1 : 0;
    may_tell_ = may_tell_ || printable_ >= kHexBytesMin;
    is_typed_ = is_typed_ || number.is_typed;
  }

  Decoded bytes() const {
    Decoded out(text_, numbers_.front().begin);
    for (const auto& number : numbers_) {
      if (number.begin > out.at()) out.replace(number.begin - out.at(), "");
      const char byte = static_cast<char>(number.value);
      out.replace(number.end - number.begin, {&byte, 1});
    }
    return out;
  }

  std::string_view text_, separator_;
  std::vector<Number> numbers_;
  std::size_t printable_ = 0;  // in a row, at the end
  bool may_tell_ = false, is_typed_ = false;
};

}  // namespace

std::vector<Decoded> listed(std::string_view text) {
  std::vector<Decoded> out;
  Series series(text);
  for (std::size_t at = 0; (at += first_of(text.substr(at), kDigit)) < text.size();) {
    const bool is_in_word = at > 0 && is_of_word(text[at - 1]);
    const auto number = is_in_word ? std::nullopt : whole_number_at(text, at);
    if (number)
      series.add(*number, out);
    else
      series.end(out);
    at = number ? number->end : at;
    while (at < text.size() && is(text[at], kDigit)) ++at;
  }
  series.end(out);
  return out;
}

bool ends_in_a_list(std::string_view line) {
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  if (line.empty() || std::string_view(",+&|.").find(line.back()) == std::string_view::npos) return false;
  const auto rest = line.substr(0, line.find_last_not_of(" \t,+&|.)}'\"") + 1);
  // The end of a sentence: `it took 12s.`
  if (line.back() == '.' && rest.size() + 1 == line.size()) return false;
  constexpr std::size_t kWordMax = 12;
  std::size_t size = 0;
  while (size < std::min(rest.size(), kWordMax) && is_of_word(rest[rest.size() - 1 - size])) ++size;
  const std::size_t begin = rest.size() - size;
  const bool is_of_name =
      begin > 0 && std::string_view("-/:").find(rest[begin - 1]) != std::string_view::npos;
  if (size == 0 || is_of_name || !is(rest[begin], kDigit)) return false;
  const auto number = whole_number_at(rest, begin);
  if (!number || number->end != rest.size()) return false;
  // A bare number ends lines of tables, logs and patches, too.
  const bool is_in_brackets =
      begin > 0 && std::string_view("()[{'\"").find(rest[begin - 1]) != std::string_view::npos;
  return number->is_typed || is_in_brackets;
}

}  // namespace pawl::secrets
