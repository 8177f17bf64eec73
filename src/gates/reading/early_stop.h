// Runners that end at a failure: what says so beside their reports, of which most do not. A detail of this
// room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

// An option by which a runner ends at a failure.
struct StopOption {
  std::string word;           // "" when there is none
  std::int64_t failures = 0;  // after so many
};
// The first one in a command (its words, or a script among them): -x of pytest, --maxfail, -failfast, --bail,
// --stop-on-failure, ...
StopOption stop_option_in(const std::vector<std::string>& argv);

// Words that a runner printed of its own end.
struct SaidStop {
  std::string words;           // "stopping after 1 failures"; "" when it says nothing
  std::int64_t collected = 0;  // pytest: as many tests it would have run; 0 when that is not known
};
SaidStop said_stop_in(std::string_view output);

}  // namespace pawl::gates
