// Amounts of money as text and as integers: never as floating-point numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

constexpr std::int64_t kNanosOfUsd = 1'000'000'000;
constexpr std::int64_t kNanosOfMicro = 1000;  // agents report millionths
constexpr std::int64_t kUsdMax = 1'000'000'000;

// Billionths of a dollar from "5", "5.00" or "0.0000025": digits, and optionally a point with one to nine
// decimals, up to kUsdMax dollars. No value for other text.
std::optional<std::int64_t> parse_usd(std::string_view text);
// "1.05" for 1,050,000,000: exact, with two to nine decimals. REQUIRES: not negative.
std::string usd_text(std::int64_t nanos);

// The sum, at most the largest int64: agents may report any numbers. REQUIRES: neither is negative.
std::int64_t sum_at_most_max(std::int64_t a, std::int64_t b);

}  // namespace pawl
