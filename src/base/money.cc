#include "base/money.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace pawl {

std::optional<std::int64_t> parse_usd(std::string_view text) {
  constexpr std::size_t kDecimals = 9;
  const auto point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string decimals(point == std::string_view::npos ? "0" : text.substr(point + 1));
  if (whole.empty() || whole.size() > 10 || decimals.empty() || decimals.size() > kDecimals)
    return std::nullopt;
  const auto digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!digits(whole) || !digits(decimals)) return std::nullopt;
  decimals.resize(kDecimals, '0');
  std::int64_t dollars = 0, nanos = 0;
  std::from_chars(whole.data(), whole.data() + whole.size(), dollars);
  std::from_chars(decimals.data(), decimals.data() + decimals.size(), nanos);
  if (dollars > kUsdMax || (dollars == kUsdMax && nanos > 0)) return std::nullopt;
  return dollars * kNanosOfUsd + nanos;
}

std::int64_t sum_at_most_max(std::int64_t a, std::int64_t b) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return a > kMax - b ? kMax : a + b;
}

std::string usd_text(std::int64_t nanos) {
  std::string text = fmt::format("{}.{:09}", nanos / kNanosOfUsd, nanos % kNanosOfUsd);
  while (text.ends_with('0') && text[text.size() - 3] != '.') text.pop_back();
  return text;
}

}  // namespace pawl
