// Amounts of money as text and as whole numbers: never a float.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

constexpr std::int64_t kNanosOfUsd = 1'000'000'000;
constexpr std::int64_t kNanosOfMicro = 1000;  // agents tell millionths
constexpr std::int64_t kUsdMax = 1'000'000'000;

// Billionths of a dollar in "5", "5.00", "0.0000025": digits, a point, at most nine decimals, up to kUsdMax
// dollars. Nothing for other text.
std::optional<std::int64_t> parse_usd(std::string_view text);
// "1.05" of 1,050,000,000: exact, with two to nine decimals. REQUIRES: not negative.
std::string usd_text(std::int64_t nanos);

// Sums of what agents tell end at the top, whatever they tell. REQUIRES: neither is negative.
std::int64_t sum_at_most_max(std::int64_t a, std::int64_t b);

}  // namespace pawl
