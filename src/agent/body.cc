#include "agent/body.h"

#include <algorithm>
#include <charconv>

#include "agent/agent.h"
#include "agent/fields.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/money.h"
#include "base/utf8.h"

namespace pawl::agent {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

unsigned hex_code(std::string_view four) {
  unsigned code = 0;
  for (const char c : four) code = code * 16 + static_cast<unsigned>(hex_digit(c));
  return code;
}

// The text of a string that Scanner has accepted, quotes included. JSON allows half of a surrogate pair; it
// becomes three bytes that are not UTF-8, which is_valid_utf8() detects.
std::string unescape(std::string_view quoted) {
  std::string_view in = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(in.size());
  while (!in.empty()) {
    const std::size_t plain = std::min(in.find('\\'), in.size());
    out += in.substr(0, plain);
    in.remove_prefix(plain);
    if (in.empty()) break;
    const char escaped = in[1];
    in.remove_prefix(2);
    constexpr std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
    if (const auto at = kFrom.find(escaped); at != std::string_view::npos) {
      out += kTo[at];
    } else if (escaped != 'u') {
      out += escaped;
    } else {
      unsigned code = hex_code(in.substr(0, 4));
      in.remove_prefix(4);
      if (code >= 0xD800 && code < 0xDC00 && in.starts_with("\\u")) {
        const unsigned low = hex_code(in.substr(2, 4));
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          in.remove_prefix(6);
        }
      }
      append_utf8(out, code);
    }
  }
  return out;
}

// Checks that a text is one JSON value. kJsonDepthMax bounds the recursion.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  template <typename OnMember>
  Status object(const OnMember& on_member, std::size_t depth) {
    if (depth > kJsonDepthMax) return problem("nested deeper than 64");
    if (!take('{')) return problem("an object was expected");
    std::vector<std::string> keys;
    skip_spaces();
    if (take('}')) return {};
    do {
      skip_spaces();
      PAWL_TRY(const auto key, string());
      keys.push_back(unescape(key));
      skip_spaces();
      if (!take(':')) return problem("':' was expected");
      PAWL_TRY(const auto inside, value(depth));
      on_member(keys.back(), inside);
      skip_spaces();
    } while (take(','));
    if (!take('}')) return problem("',' or '}' was expected");
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
      return fail(ErrorKind::kInvalid, "duplicate key '" + printable(twice->substr(0, 64)) + "'");
    return {};
  }

  // The text of the next value, without the whitespace around it.
  Result<std::string_view> value(std::size_t depth) {
    skip_spaces();
    const std::size_t from = at_;
    PAWL_OK(any(depth));
    return text_.substr(from, at_ - from);
  }

  void skip_comma() {
    skip_spaces();
    take(',');
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  Status problem(std::string_view what) const {
    Error error{.kind = ErrorKind::kInvalid,
                .message = "not JSON: " + std::string(what) + " at byte " + std::to_string(at_ + 1)};
    error.column = static_cast<std::int64_t>(at_) + 1;
    return std::unexpected(std::move(error));
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  Status any(std::size_t depth) {
    switch (peek()) {
      case '{':
        return object([](const std::string&, std::string_view) {}, depth + 1);
      case '[':
        return array(depth + 1);
      case '"': {
        PAWL_TRY([[maybe_unused]] const auto text, string());
        return {};
      }
      default:
        return word();
    }
  }

  Status array(std::size_t depth) {
    if (depth > kJsonDepthMax) return problem("nested deeper than 64");
    take('[');
    skip_spaces();
    if (take(']')) return {};
    do {
      PAWL_TRY([[maybe_unused]] const auto item, value(depth));
      skip_spaces();
    } while (take(','));
    if (!take(']')) return problem("',' or ']' was expected");
    return {};
  }

  Result<std::string_view> string() {
    const std::size_t from = at_;
    const auto bad = [&](std::string_view what) { return std::unexpected(problem(what).error()); };
    if (!take('"')) return bad("a string was expected");
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return text_.substr(from, at_ - from);
      if (static_cast<unsigned char>(c) < 0x20) return bad("a control character in a string");
      if (c != '\\') continue;
      const char escaped = peek();
      ++at_;
      if (escaped == 'u') {
        for (int i = 0; i < 4; ++i, ++at_)
          if (hex_digit(peek()) < 0) return bad("\\u without four hexadecimal digits");
      } else if (escaped == '\0' || std::string_view("\"\\/bfnrt").find(escaped) == std::string_view::npos) {
        return bad("an unknown escape");
      }
    }
    return bad("a string without an end");
  }

  Status word() {
    for (const std::string_view literal : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(literal)) {
        at_ += literal.size();
        return {};
      }
    return number();
  }

  bool some_digits() {
    const std::size_t from = at_;
    while (is_digit(peek())) ++at_;
    return at_ != from;
  }

  Status number() {
    take('-');
    if (!take('0') && !some_digits()) return problem("a value was expected");
    if (take('.') && !some_digits()) return problem("digits were expected");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!some_digits()) return problem("digits were expected");
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// A value that Scanner has accepted, without whitespace outside strings.
std::string without_spaces(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  bool in_string = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (!in_string && is_space(c)) continue;
    out += c;
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') out += value[++i];
  }
  return out;
}

std::unexpected<Error> member_problem(std::string_view name, std::string_view what) {
  return fail(ErrorKind::kInvalid, "'" + std::string(name) + "' " + std::string(what));
}

Result<std::string> text_of(std::string_view name, std::string_view value, std::int64_t characters_max) {
  if (!value.starts_with('"')) return member_problem(name, "is a string");
  std::string out = unescape(value);
  if (!is_valid_utf8(out)) return member_problem(name, "is not UTF-8: it has half of a surrogate pair");
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  if (std::ranges::count_if(out, begins) > characters_max)
    return member_problem(name, "has at most " + std::to_string(characters_max) + " characters");
  return out;
}

}  // namespace

Result<Body> Body::parse(std::string_view text) {
  if (!is_valid_utf8(text)) return fail(ErrorKind::kInvalid, "the body is not UTF-8");
  Body out;
  Scanner scanner(text);
  scanner.at_end();  // skips whitespace before the object
  const auto keep = [&](const std::string& name, std::string_view value) {
    out.members_.push_back({name, value});
  };
  PAWL_OK(scanner.object(keep, 1));
  if (!scanner.at_end()) PAWL_OK(scanner.problem("something behind the object"));
  return out;
}

const Body::Member* Body::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : &*found;
}

Result<std::string_view> Body::required(std::string_view name) const {
  const Member* member = find(name);
  if (member == nullptr) return member_problem(name, "is missing");
  return member->value;
}

std::vector<std::string> Body::names() const {
  std::vector<std::string> out;
  for (const auto& member : members_) out.push_back(member.name);
  return out;
}

Status Body::unknown(const std::string& name) {
  return member_problem(printable(name.substr(0, 64)), "is not known here");
}

Result<std::string> Body::text(std::string_view name, std::int64_t characters_max) const {
  PAWL_TRY(const auto value, required(name));
  return text_of(name, value, characters_max);
}

Result<std::int64_t> Body::integer(std::string_view name) const {
  PAWL_TRY(const auto value, required(name));
  const auto number = digits(value);
  if (!number) return member_problem(name, "is an integer of 63 bits, without fraction, exponent and sign");
  return *number;
}

Result<std::vector<std::string>> Body::texts(std::string_view name, std::size_t count_max,
                                             std::int64_t characters_max) const {
  PAWL_TRY(const auto value, required(name));
  if (!value.starts_with('[')) return member_problem(name, "is an array of strings");
  std::vector<std::string> out;
  Scanner scanner(value.substr(1, value.size() - 2));
  while (!scanner.at_end()) {
    if (out.size() == count_max)
      return member_problem(name, "has at most " + std::to_string(count_max) + " items");
    PAWL_TRY(const auto item, scanner.value(1));
    PAWL_TRY(auto text, text_of(name, item, characters_max));
    out.push_back(std::move(text));
    scanner.skip_comma();
  }
  return out;
}

Result<std::string> Body::any(std::string_view name, std::size_t bytes_max) const {
  PAWL_TRY(const auto value, required(name));
  std::string out = without_spaces(value);
  if (out.size() > bytes_max)
    return member_problem(name, "has at most " + std::to_string(bytes_max) + " bytes");
  return out;
}

Result<std::string> Body::id(std::string_view name) const {
  PAWL_TRY(auto out, text(name, kIdBytesMax));
  PAWL_OK(check_id(name, out));
  return out;
}

Result<std::int64_t> money(std::string_view what, std::string_view text) {
  const auto bad = [&] {
    return member_problem(what, "is dollars as a decimal string, like \"0.0125\": nine digits, then six");
  };
  constexpr std::size_t kWholeDigitsMax = 9, kDecimalsMax = 6;
  const auto point = std::min(text.find('.'), text.size());
  if (point > kWholeDigitsMax || text.size() - point > kDecimalsMax + 1) return bad();
  const auto nanos = parse_usd(text);
  if (!nanos) return bad();
  return *nanos / kNanosOfMicro;
}

std::string money_text(std::int64_t usd_micros) {
  std::string fraction = std::to_string(usd_micros % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  while (fraction.ends_with('0')) fraction.pop_back();
  std::string out = std::to_string(usd_micros / 1'000'000);
  if (!fraction.empty()) out += "." + fraction;
  return out;
}

bool is_valid_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return std::ranges::all_of(text, is_ascii) || valid_utf8(text) == text;
}

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t out = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool all = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!all || text.front() == '-') return std::nullopt;
  return out;
}

}  // namespace pawl::agent
