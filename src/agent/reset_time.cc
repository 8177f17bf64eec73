// Reads the time at which a limit ends from a line of an agent program; an attacker may have written it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "agent/refusal.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kMicros = 1'000'000, kMinuteMs = 60'000;
constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr std::int64_t kEpochMax = 4'102'444'800;  // the year 2100
// A time of the day that has passed since less than this is the one that was meant: a line is read late.
constexpr std::int64_t kJustPassedSeconds = 10 * kMinute;

// Reads a text from left to right. Each function moves on only when it has found what it looks for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_spaces() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    if (text_.size() < word.size()) return false;
    const bool same = std::ranges::equal(text_.substr(0, word.size()), word,
                                         [](char a, char b) { return lower(a) == lower(b); });
    if (same) text_.remove_prefix(word.size());
    return same;
  }
  // A number of at most `digits` digits.
  std::optional<std::int64_t> number(std::size_t digits) {
    std::size_t size = 0;
    std::int64_t value = 0;
    while (size < text_.size() && size <= digits && text_[size] >= '0' && text_[size] <= '9')
      value = value * 10 + (text_[size++] - '0');
    if (size == 0 || size > digits) return std::nullopt;
    text_.remove_prefix(size);
    return value;
  }
  // A name of letters; "" when there is none.
  std::string word() {
    std::string out;
    while (!text_.empty() && lower(text_.front()) >= 'a' && lower(text_.front()) <= 'z') {
      out += lower(text_.front());
      text_.remove_prefix(1);
    }
    return out;
  }

 private:
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
  std::string_view text_;
};

std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  return at == line.npos ? std::nullopt : std::optional(line.substr(at + word.size()));
}

std::optional<Reset> at_seconds(std::int64_t seconds, std::int64_t within_ms = 0) {
  if (seconds < 0 || seconds > kEpochMax) return std::nullopt;
  return Reset{.at = {seconds * kMicros}, .within_ms = within_ms};
}

// `limit reached|1760000000`, in seconds or milliseconds.
std::optional<Reset> epoch_in(std::string_view line) {
  constexpr std::size_t kSecondsDigits = 10, kMillisDigits = 13;
  const auto rest = behind(line, "limit reached|");
  if (!rest) return std::nullopt;
  Scanner scanner(*rest);
  const auto number = scanner.number(kMillisDigits);
  if (!number) return std::nullopt;
  const auto digits = std::to_string(*number).size();
  if (digits == kMillisDigits) return at_seconds((*number + 999) / 1000);
  return digits == kSecondsDigits ? at_seconds(*number) : std::nullopt;
}

std::int64_t seconds_of_unit(const std::string& unit) {
  if (unit == "d" || unit == "day" || unit == "days") return kDay;
  if (unit == "h" || unit == "hour" || unit == "hours") return kHour;
  if (unit == "m" || unit == "min" || unit == "minute" || unit == "minutes") return kMinute;
  return unit == "s" || unit == "sec" || unit == "second" || unit == "seconds" ? 1 : 0;
}

// Only for minutes: an agent asks again within this time, and often.
std::int64_t within_ms_of(std::int64_t unit_seconds) { return unit_seconds == kMinute ? kMinuteMs : 0; }

struct Duration {
  std::int64_t seconds = 0, within_ms = 0;  // the second as in Reset
};

// `3 days 6 hours 8 minutes`, `1h2m3.5s`, `45s`; rounded up to seconds.
std::optional<Duration> duration_in(std::string_view text) {
  constexpr std::size_t kDigits = 6;
  Scanner scanner(text);
  std::optional<Duration> total;
  for (;;) {
    scanner.skip_spaces();
    const auto number = scanner.number(kDigits);
    if (!number) return total;
    std::int64_t rounded_up = 0;
    if (scanner.take(".")) {
      if (!scanner.number(12)) return std::nullopt;
      rounded_up = 1;
    }
    scanner.skip_spaces();
    const auto unit = scanner.word();
    if (unit == "ms") return Duration{.seconds = total.value_or(Duration()).seconds + 1};
    const auto seconds = seconds_of_unit(unit);
    if (seconds == 0) return std::nullopt;
    total = Duration{.seconds = total.value_or(Duration()).seconds + (*number + rounded_up) * seconds,
                     .within_ms = within_ms_of(seconds)};
  }
}

struct Date {
  std::int64_t month = 0, day = 0, year = 0;  // year 0: not named
};

std::optional<Date> date_in(Scanner& scanner) {
  static constexpr std::array kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec"};
  const auto name = scanner.word();
  const auto month = std::ranges::find(kMonths, name.substr(0, 3));
  if (month == kMonths.end()) return std::nullopt;
  scanner.skip_spaces();
  const auto day = scanner.number(2);
  if (!day) return std::nullopt;
  scanner.word();  // 8th
  scanner.take(",");
  scanner.skip_spaces();
  Date out{.month = month - kMonths.begin() + 1, .day = *day};
  Scanner ahead = scanner;
  if (const auto year = ahead.number(4); year && *year >= 2000) {
    out.year = *year;
    scanner = ahead;
    scanner.take(",");
    scanner.skip_spaces();
  }
  if (scanner.take("at")) scanner.skip_spaces();
  return out;
}

// `3pm`, `3:28 PM`, `15:00`: seconds of the day.
std::optional<std::int64_t> clock_in(Scanner& scanner) {
  const auto hour = scanner.number(2);
  if (!hour) return std::nullopt;
  std::int64_t minute = 0;
  const bool has_minute = scanner.take(":");
  if (has_minute) {
    const auto found = scanner.number(2);
    if (!found) return std::nullopt;
    minute = *found;
  }
  scanner.skip_spaces();
  const bool pm = scanner.take("pm"), am = !pm && scanner.take("am");
  if ((!am && !pm && !has_minute) || minute > 59) return std::nullopt;
  if ((am || pm) ? (*hour < 1 || *hour > 12) : *hour > 23) return std::nullopt;
  const auto of_day = (am || pm) ? *hour % 12 + (pm ? 12 : 0) : *hour;
  return of_day * kHour + minute * kMinute;
}

std::optional<std::int64_t> days_of(const Date& date, int year) {
  using namespace std::chrono;
  const year_month_day day(std::chrono::year(year), month(static_cast<unsigned>(date.month)),
                           std::chrono::day(static_cast<unsigned>(date.day)));
  if (!day.ok()) return std::nullopt;
  return sys_days(day).time_since_epoch().count();
}

// A date without a year is the one nearest to `now`.
std::optional<std::int64_t> day_of(const Date& date, std::int64_t now_days) {
  using namespace std::chrono;
  if (date.year != 0) return days_of(date, static_cast<int>(date.year));
  const year_month_day today{sys_days{days{now_days}}};
  std::optional<std::int64_t> nearest;
  for (const int more : {-1, 0, 1}) {
    const auto found = days_of(date, static_cast<int>(today.year()) + more);
    if (found && (!nearest || std::abs(*found - now_days) < std::abs(*nearest - now_days))) nearest = found;
  }
  return nearest;
}

// `3pm (UTC)`, `Feb 16, 11am (Europe/Berlin)`, `Aug 8th, 2026 12:30 PM`. A zone that is named and is not UTC
// is the machine's: a program has it from there.
std::optional<Reset> clock_time_in(std::string_view text, const EndTime& ended) {
  Scanner scanner(text);
  scanner.skip_spaces();
  if (scanner.take("at")) scanner.skip_spaces();
  Scanner ahead = scanner;
  const auto date = date_in(ahead);
  if (date) scanner = ahead;
  const auto clock = clock_in(scanner);
  if (!clock) return std::nullopt;
  scanner.skip_spaces();
  const bool is_utc = scanner.take("(UTC") || scanner.take("UTC") || scanner.take("(Etc/UTC");
  const auto offset = is_utc ? 0 : ended.utc_offset_seconds;
  const auto now = ended.at.micros / kMicros + offset;  // all in local time
  const auto today = now / kDay;
  if (date) {
    const auto day = day_of(*date, today);
    return day ? at_seconds(*day * kDay + *clock - offset, kMinuteMs) : std::nullopt;
  }
  auto out = today * kDay + *clock;
  if (out < now - kJustPassedSeconds) out += kDay;
  return at_seconds(out - offset, kMinuteMs);
}

}  // namespace

std::optional<Reset> reset_in(std::string_view line, const EndTime& ended) {
  line = line.substr(0, kRefusalLineBytesMax);
  if (const auto epoch = epoch_in(line)) return epoch;
  for (const auto* word : {"try again in ", "retry in ", "Retry after ", "retry after ", "reset after "})
    if (const auto text = behind(line, word))
      if (const auto left = duration_in(*text))
        return at_seconds((ended.at.micros + kMicros - 1) / kMicros + left->seconds, left->within_ms);
  for (const auto* word : {"resets ", "reset at ", "try again at ", "Try again at "})
    if (const auto text = behind(line, word))
      if (const auto time = clock_time_in(*text, ended)) return time;
  return std::nullopt;
}

}  // namespace pawl::agent
