// Texts of runners and compilers: names that stay the same from run to run, and the lines that report
// failures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::gates {

// A name without the parts that change although the test does not: the line number after a source file, a
// random folder below /tmp, an address. The collector numbers names that become equal. Applying it twice has
// the same result as once.
std::string stable_name(std::string_view name);
// The same for the message of an analyser, also without the lines and columns in it: "declared on line 3".
std::string stable_message(std::string_view message);

// Whether a failed test is a hook, by the name that all reporters of Mocha give it:
// `a "before each" hook for "b"`.
bool is_hook_of_mocha(std::string_view name);
// Whether a test is a setup or a teardown of bats, by the name that bats reports in place of a test:
// "setup_file failed".
bool is_setup_of_bats(std::string_view name);
bool is_teardown_of_bats(std::string_view name);

// The lines that look like failures ("error:", "not ok", "E   assert", "panic:", ...) or that state expected
// and received values ("Received: 6"), each with the indented lines below it, in their order. "..." stands
// for the lines left out between them. At most `bytes_max`; "" when there is no such line.
std::string telling_lines(std::string_view text, std::size_t bytes_max);

// Whether a line looks like a failure, or is the member "message" of an object in JSON.
bool says_error(std::string_view line);

// When more than half of the lines begin, or end, with the same word ("pass 1", "pass 2"): all other lines,
// in the form of telling_lines(). "" when no word is that frequent.
std::string unusual_lines(std::string_view text, std::size_t bytes_max);

// The beginning of a text, cut between two words. REQUIRES: valid UTF-8.
std::string_view whole_words(std::string_view text, std::size_t bytes_max);

// The most useful part of a text, in `bytes_max`: the whole text when it fits, or the text without stacks, of
// which one line stays. Otherwise its telling lines; without such lines, its beginning and its end. REQUIRES:
// valid UTF-8.
std::string excerpt(std::string_view text, std::size_t bytes_max);

}  // namespace pawl::gates
