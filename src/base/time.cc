#include "base/time.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace pawl {
namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00.000000Z";

}  // namespace

std::string rfc3339(WallTime time) {
  using namespace std::chrono;
  const sys_time<microseconds> point{microseconds{time.micros}};
  const auto day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss clock{point - day};
  // Formats digit by digit, for speed: each attempt writes a dozen times.
  std::string text(kShape);
  const auto put = [&](std::size_t at, std::size_t digits, std::int64_t value) {
    for (; digits > 0; value /= 10) text[at + --digits] = static_cast<char>('0' + value % 10);
  };
  put(0, 4, static_cast<int>(date.year()));
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, clock.hours().count());
  put(14, 2, clock.minutes().count());
  put(17, 2, clock.seconds().count());
  put(20, 6, clock.subseconds().count());
  return text;
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  auto bad = [&] { return fail(ErrorKind::kInvalid, fmt::format("not a time like {}: '{}'", kShape, text)); };
  if (text.size() != kShape.size()) return bad();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return bad();
  }
  auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  using namespace std::chrono;
  const year_month_day date{year{number(0, 4)}, month{static_cast<unsigned>(number(5, 2))},
                            day{static_cast<unsigned>(number(8, 2))}};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return bad();
  const auto point = sys_days{date} + hours{number(11, 2)} + minutes{number(14, 2)} + seconds{number(17, 2)} +
                     microseconds{number(20, 6)};
  return WallTime{duration_cast<microseconds>(point.time_since_epoch()).count()};
}

}  // namespace pawl
