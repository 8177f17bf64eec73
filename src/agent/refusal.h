// Finds out from the output of an agent program that the provider of its model refused it: for now (a rate
// limit, a usage window, an overload, an outage), or for its credential. Pure.
//
// An attacker may have written the output. A refusal costs a wait, and waits are bounded (store::Wait).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/last_error.h"
#include "base/time.h"

namespace pawl::agent {

enum class RefusalKind { kLimited, kUnauthorized };

// How a program shows that its provider refused it.
struct RefusalSigns {
  struct Line {
    RefusalKind kind = RefusalKind::kLimited;
    std::int64_t status = 0;         // the HTTP status that it stands for; 0: none
    std::vector<std::string> words;  // all of them are in one line; not empty
    // With `whole_behind`: they count only where an error has its status, because other texts have such words, too.
    bool is_status = false;
  };
  struct Exit {
    std::int64_t code = 0;
    RefusalKind kind = RefusalKind::kLimited;
    std::int64_t status = 0;
  };
  std::string provider;  // for people
  // The beginning, in lower case, of lines in which only whole words count: 429 is not in 14290. "": words count
  // anywhere in a line.
  std::string whole_behind;
  std::vector<Exit> exits;  // exit codes that alone say it
  // In the error of the last event, when it has no status, with any exit code but 0. When the last event is no error,
  // near the end of the output, in lines that are not of JSON: an event may have texts of the model or of a tool.
  std::vector<Line> lines;
  // Reads the last event of a program with events, before lines and exit codes count.
  ReadLastError* last_error = nullptr;
  std::vector<Line> errors;     // like `lines`, but only in the error of the last event
  bool may_end_with_0 = false;  // its last event says it, whatever its exit code is
};

// The signs of the program with this name in plans; null: no signs are known.
const RefusalSigns* refusal_signs(std::string_view program);

// The end of the output whose lines count: there a program says why it ends. An event may be long, because some
// events repeat the whole conversation.
constexpr std::size_t kRefusalTailBytes = 16 << 10, kRefusalLinesMax = 40, kRefusalLineBytesMax = 2048;
constexpr std::size_t kEventTailBytes = 4 << 20;

// The end of a limit, as a program named it; it may have passed.
struct Reset {
  WallTime at;
  // The limit ends so much later at most: programs cut a time of the day to its minute.
  std::int64_t within_ms = 0;
};

struct Refusal {
  RefusalKind kind = RefusalKind::kLimited;
  std::int64_t status = 0;
  std::optional<Reset> reset;
  std::string line;  // at most kRefusalLineBytesMax; "": the exit code said it
  // No provider answered. So says a program, too, whose sandbox does not let it reach one.
  bool is_unreachable() const { return kind == RefusalKind::kLimited && status == 0; }
};

// When the program ended, and the offset of its local time from UTC.
struct EndTime {
  WallTime at;
  std::int64_t utc_offset_seconds = 0;
};

// The bytes of the output's end that refusal_in() needs; 0: none, because a program that ended so was not refused.
std::size_t refusal_tail_bytes(const RefusalSigns& signs, std::int64_t exit_code);

// No value: the program does not say that it was refused. `tail`: the end of its output.
std::optional<Refusal> refusal_in(const RefusalSigns& signs, std::int64_t exit_code, std::string_view tail,
                                  const EndTime& ended);

// The error that the program ended with, in its own words, at most kRefusalLineBytesMax; "": it says none in its last
// event. `tail`: at least kEventTailBytes of the output's end, or all of it.
std::string said_error(const RefusalSigns& signs, std::string_view tail);

// The time that a line names for the end of a limit: `limit reached|1760000000`, `try again in 3 hours 42 minutes`,
// `retry in 35.2s`, `resets 3pm (UTC)`, `resets Feb 16, 11am`, `try again at Aug 8th, 2026 12:30 PM`. A time of the
// day means its next occurrence, or an occurrence that has just passed. No value: the line names no time, or a time
// outside of this century.
std::optional<Reset> reset_in(std::string_view line, const EndTime& ended);

}  // namespace pawl::agent
