// Signs that a runner ended at a failure: options of its command and words of its output. Most reports do not
// say so themselves. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

// An option that ends a runner at a failure.
struct StopOption {
  std::string word;           // "" when there is no such option
  std::int64_t failures = 0;  // the number of failures that end the runner
  std::string file;           // the file that has the option; "": the command itself
  // Where the search for other options ended: "64 folders". "": it looked through everything.
  std::string not_searched;
  std::string remedy = {};  // the user's remedy; "": remove the option
};
// The first such option in a command (its words, or a script among them): -x of pytest, --maxfail, -failfast,
// --bail, --stop-on-failure, ..., or a `cargo test` of several programs without --no-fail-fast.
StopOption stop_option_in(const std::vector<std::string>& argv);

// The words of a runner about its early end.
struct SaidStop {
  std::string words;           // "stopping after 1 failures"; "": it printed no such words
  std::int64_t collected = 0;  // pytest: the number of tests that it selected; 0 when that is not known
};
SaidStop said_stop_in(std::string_view output);

}  // namespace pawl::gates
