#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/hash.h"
#include "base/json.h"
#include "secrets/bytes.h"
#include "secrets/shapes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kLeast = 2 * kHexBytesMin;  // bytes of the shortest run
static_assert(kLeast <= kRunMin);

// The run of bytes of these classes around `at`, not before `from`; empty when the byte at `at` is not in
// them.
Range around(std::string_view text, std::size_t from, std::size_t at, unsigned classes) {
  Range out{.begin = at, .end = at};
  if (!is(text[at], classes)) return out;
  while (out.begin > from && is(text[out.begin - 1], classes)) --out.begin;
  while (out.end < text.size() && is(text[out.end], classes)) ++out.end;
  return out;
}

bool is_hex(std::string_view text, const Range& run) {
  if (run.end - run.begin < kLeast) return false;
  std::size_t digits = 0;
  for (std::size_t at = run.begin; at < run.end && digits < kLeast; ++at)
    digits += is(text[at], kHex) ? 1 : 0;
  return digits >= kLeast;
}

bool is_base64(std::string_view text, const Range& run) {
  return run.end - run.begin >= kRunMin &&
         first_of(text.substr(run.begin, run.end - run.begin), kTelling) < run.end - run.begin;
}

// Calls `take(digits, bytes)` for each group of at most four digits of base64.
void each_group(std::string_view text, std::size_t begin, std::size_t end, const auto& take) {
  for (std::size_t at = begin; at < end; at += 4) {
    const std::size_t digits = std::min<std::size_t>(4, end - at);
    if (digits < 2) break;
    unsigned group = 0;
    for (std::size_t i = 0; i < 4; ++i)
      group = group << 6U | static_cast<unsigned>(i < digits ? base64_digit(text[at + i]) : 0);
    const std::array<char, 3> bytes = {static_cast<char>(group >> 16U), static_cast<char>(group >> 8U),
                                       static_cast<char>(group)};
    take(digits, std::string_view(bytes.data(), digits - 1));
  }
}

Decoded base64_from(std::string_view text, std::size_t begin, std::size_t end) {
  Decoded out(text, begin);
  each_group(text, begin, end,
             [&](std::size_t digits, std::string_view bytes) { out.replace(digits, bytes); });
  return out;
}

// The size of the separators between two bytes: ":", " ", ", 0x", "\x", the end of a line.
std::size_t separators_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (n < kSeparatorsMax && at + n < text.size() && is(text[at + n], kSeparator) && text[at + n] != 'x')
    ++n;
  if (text.substr(std::min(at + n, text.size())).starts_with("0x")) n += 2;
  if (n > 0 && at + n < text.size() && text[at + n] == 'x') ++n;
  return n;
}

// Calls `take(separators, byte)` for each byte in hexadecimal digits, and returns where they end.
std::size_t each_byte(std::string_view text, std::size_t begin, const auto& take) {
  for (std::size_t at = begin;;) {
    const std::size_t first = at == begin ? at : at + separators_at(text, at);
    if (first + 1 >= text.size()) return at;
    const int high = hex_digit(text[first]), low = hex_digit(text[first + 1]);
    if (high < 0 || low < 0) return at;
    take(first - at, static_cast<char>(high << 4 | low));
    at = first + 2;
  }
}

Decoded hex_from(std::string_view text, std::size_t begin) {
  Decoded out(text, begin);
  each_byte(text, begin, [&](std::size_t separators, char byte) {
    if (separators > 0) out.replace(separators, "");
    out.replace(2, {&byte, 1});
  });
  return out;
}

// Whether a text that comes byte by byte has a run of digits that next_packed() would find.
class RunOfDigits {
 public:
  void see(char c) {
    base64_ = is(c, kBase64) ? base64_ + 1 : 0;
    hex_ = is(c, kHex) ? hex_ + 1 : is(c, kSeparator) ? hex_ : 0;
    is_there_ = is_there_ || base64_ >= kRunMin || hex_ >= kLeast;
  }
  bool is_there() const { return is_there_; }

 private:
  std::size_t base64_ = 0, hex_ = 0;
  bool is_there_ = false;
};

// The digits that occur wherever `bytes` occur in base64 or base64url, one string for each place at which
// they may begin.
std::vector<std::string> base64_cores(std::string_view bytes) {
  std::vector<std::string> out;
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string whole = std::string(before, '\0') + std::string(bytes);
    // Only the digits that depend on no neighbouring byte.
    const std::size_t first = (before * 8 + 5) / 6, end = whole.size() * 8 / 6;
    std::string core = to_base64(whole).substr(first, end - first);
    out.push_back(core);
    std::ranges::replace(core, '+', '-');
    std::ranges::replace(core, '/', '_');
    if (core != out.back()) out.push_back(std::move(core));
  }
  return out;
}

// An RE2 pattern that matches `bytes` in hexadecimal digits.
std::string hex_pattern(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += (out.empty() ? "(?i:" : R"([^0-9A-Za-z]*(?:0?x)?)") +
           fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out + ")";
}

std::string wide(std::string_view text) {
  std::string out;
  for (const char c : text) out += {c, '\0'};
  return out;
}

std::string in_capitals(std::string digits) {
  std::ranges::transform(digits, digits.begin(),
                         [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return digits;
}

}  // namespace

bool has_digits_behind_escape(std::string_view text) {
  constexpr std::size_t kBeforeDigitsMax = 3;   // "&#", "&#x"
  constexpr std::size_t kBytesBehindMax = 128;  // enough for the shortest run of any kind
  for (std::size_t at = 0; (at += first_of(text.substr(at), kEscape)) < text.size(); ++at) {
    const auto behind = text.substr(at + 1, kBytesBehindMax);
    const auto begin = first_of(behind, kBase64);
    if (begin > kBeforeDigitsMax || begin == behind.size()) continue;
    const auto run = around(behind, begin, begin, kBase64);
    const auto hex = around(behind, begin, begin, kHex | kSeparator);
    if (run.end - run.begin >= kRunMin || is_hex(behind, hex)) return true;
  }
  return false;
}

std::optional<Range> next_packed(std::string_view text, std::size_t from) {
  // Every run that is long enough contains a byte at one of these steps. The bytes between are not read.
  Range run, hex;
  for (std::size_t at = from + kLeast - 1; at < text.size();) {
    // A run is read once, however many steps it has.
    const bool new_run = at >= run.end, new_hex = at >= hex.end;
    if (new_run) run = around(text, from, at, kBase64);
    if (new_hex) hex = around(text, from, at, kHex | kSeparator);
    if (new_hex && is_hex(text, hex))
      return Range{.begin = std::min(run.begin, hex.begin), .end = std::max(run.end, hex.end)};
    if (new_run && is_base64(text, run)) return run;
    at = std::max(at + 1, std::min(run.end, hex.end)) + kLeast - 1;
  }
  return std::nullopt;
}

std::vector<Decoded> unpacked(std::string_view text) {
  std::vector<Decoded> out;
  for (std::size_t begin = 0; begin < text.size();) {
    if (base64_digit(text[begin]) < 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < text.size() && base64_digit(text[end]) >= 0) ++end;
    if (end - begin >= kRunMin)
      for (std::size_t shift = 0; shift < 4; ++shift) out.push_back(base64_from(text, begin + shift, end));
    begin = end;
  }
  for (std::size_t begin = 0; begin + 1 < text.size();) {
    const bool first = hex_digit(text[begin]) >= 0;
    Decoded even = first ? hex_from(text, begin) : Decoded(text, begin);
    const std::size_t end = std::max(even.at(), begin + 1);
    if (even.text().size() >= kHexBytesMin) {
      // In a run of digits the first byte may begin at an odd place, too.
      if (Decoded odd = hex_from(text, begin + 1); odd.text().size() >= kHexBytesMin)
        out.push_back(std::move(odd));
      out.push_back(std::move(even));
    }
    begin = end;
  }
  return out;
}

bool may_nest(std::string_view digits) {
  for (std::size_t begin = 0; begin < digits.size(); ++begin) {
    std::size_t end = begin;
    while (end < digits.size() && base64_digit(digits[end]) >= 0) ++end;
    for (std::size_t shift = 0; shift < 4 && end - begin >= kNestedMin; ++shift) {
      RunOfDigits run;
      each_group(digits, begin + shift, end, [&](std::size_t, std::string_view bytes) {
        for (const char c : bytes) run.see(c);
      });
      if (run.is_there()) return true;
    }
    begin = end;
  }
  for (std::size_t begin = 0; begin + kNestedMin <= digits.size();) {
    RunOfDigits even, odd;
    const auto end = each_byte(digits, begin, [&](std::size_t, char byte) { even.see(byte); });
    if (end > begin) each_byte(digits, begin + 1, [&](std::size_t, char byte) { odd.see(byte); });
    if (even.is_there() || odd.is_there()) return true;
    begin = std::max(end, begin + 1);
  }
  return false;
}

std::string packed_pattern(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view bytes) {
    auto cores = base64_cores(bytes.substr(0, kPackedHintMax));
    for (const auto& core : cores) parts.push_back(RE2::QuoteMeta(core));
    return cores;
  };
  for (const auto& begin : beginnings())
    for (const auto& bytes : {begin, wide(begin)}) {
      add(bytes);
      parts.push_back(hex_pattern(std::string_view(bytes).substr(0, kPackedHintMax)));
    }
  for (const auto& value : values) {
    const std::string_view first = std::string_view(value).substr(0, kPackedHintMax);
    std::string json;
    append_json_string(json, value);
    for (const auto& bytes : {value, json.substr(1), wide(value)})
      for (const auto& core : add(bytes)) add(core);
    add(to_hex(first));
    add(in_capitals(to_hex(first)));
    for (const auto& core : base64_cores(first)) parts.push_back(hex_pattern(core));
    parts.push_back(hex_pattern(first));
  }
  std::ranges::sort(parts);
  parts.erase(std::ranges::unique(parts).begin(), parts.end());
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : "|") + part;
  return out;
}

}  // namespace pawl::secrets
