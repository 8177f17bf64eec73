// The body of a request: one JSON object that an attacker wrote. parse() checks it; the other functions read
// its members.
//
// It does not use base/json.h: a step's result is stored as the agent wrote it, fractions included, and most
// requests are small and frequent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pawl::agent {

// A view: the parsed text must outlive it. Every error is kInvalid and names the member.
class Body {
 public:
  // RFC 8259, nested at most kJsonDepthMax deep, without duplicate keys at any depth; UTF-8 (RFC 3629).
  static Result<Body> parse(std::string_view text);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const;
  // A string of at most `characters_max` characters (not bytes), as JSON Schema counts them.
  Result<std::string> text(std::string_view name, std::int64_t characters_max) const;
  Result<std::string> id(std::string_view name) const;  // checked by check_id()
  // An integer of 0 or more, without a fraction, an exponent or a sign.
  Result<std::int64_t> integer(std::string_view name) const;
  Result<std::vector<std::string>> texts(std::string_view name, std::size_t count_max,
                                         std::int64_t characters_max) const;
  // Any JSON, without whitespace outside strings, of at most `bytes_max` bytes.
  Result<std::string> any(std::string_view name, std::size_t bytes_max) const;

  // kInvalid: the object has other members than `names`.
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

// "0.0125" as millionths of a dollar: up to nine digits, then optionally a point and one to six digits.
Result<std::int64_t> money(std::string_view what, std::string_view text);
std::string money_text(std::int64_t usd_micros);
bool is_valid_utf8(std::string_view text);
// A decimal integer without a sign, at most 2^63 - 1.
std::optional<std::int64_t> digits(std::string_view text);

}  // namespace pawl::agent
