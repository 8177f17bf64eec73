// The body of a request: one JSON object that an attacker wrote, checked and then asked for its members.
//
// Not base/json.h: what an agent calls a step's result is kept as it was written, fractions included, and
// most requests are small and many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::agent {

// What its views point into has to outlive it. All errors are kInvalid and name the member.
class Body {
 public:
  // RFC 8259, kJsonDepthMax deep at most, no key twice in one object, at any depth; UTF-8 (RFC 3629).
  static Result<Body> parse(std::string_view text);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;
  // A string of at most `characters_max` characters (not bytes: what JSON Schema counts).
  Result<std::string> text(std::string_view name, std::int64_t characters_max) const;
  Result<std::string> id(std::string_view name) const;  // as check_id wants it
  // 0 and more, without fraction, exponent and sign.
  Result<std::int64_t> integer(std::string_view name) const;
  Result<std::vector<std::string>> texts(std::string_view name, std::size_t count_max,
                                         std::int64_t characters_max) const;
  // Any JSON, without the spaces between its parts, at most `bytes_max` bytes.
  Result<std::string> any(std::string_view name, std::size_t bytes_max) const;

  // kInvalid when it has members besides these.
  template <typename... Names>
  Status only(Names... names) const {
    for (const auto& member : members_)
      if (((member.name != std::string_view(names)) && ...)) return unknown(member.name);
    return {};
  }

 private:
  struct Member {
    std::string name;
    std::string_view value;
  };
  const Member* find(std::string_view name) const;
  Result<std::string_view> required(std::string_view name) const;
  static Status unknown(const std::string& name);

  std::vector<Member> members_;
};

// "0.0125" as millionths of a dollar: up to nine digits, a point and one to six digits.
Result<std::int64_t> money(std::string_view what, std::string_view text);
std::string money_text(std::int64_t usd_micros);
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // RFC 4648, section 4, padded
bool is_valid_utf8(std::string_view text);
// Digits only, at most 2^63 - 1.
std::optional<std::int64_t> digits(std::string_view text);

}  // namespace pawl::agent
