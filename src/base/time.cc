#include "base/time.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace pawl {

std::string rfc3339(WallTime time) {
  using namespace std::chrono;
  const sys_time<microseconds> point{microseconds{time.micros}};
  const auto day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss clock{point - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00.000000Z";
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
