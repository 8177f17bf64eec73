// The words of runners and compilers: names that stay, and the lines that say what failed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::gates {

// A name without what moves when nothing of the test does: the line behind a source file's name, the random
// folder below /tmp, an address. Names that become equal are numbered by the collector. The same text again
// changes nothing.
std::string stable_name(std::string_view name);
// The same of what an analyser says, also without the lines and columns that it names: "declared on line 3".
std::string stable_message(std::string_view message);

// Whether a test that failed is a hook, as Mocha names them in every of its reporters: `a "before each" hook
// for "b"`.
bool is_hook_of_mocha(std::string_view name);
// By the names that bats gives them, where a test would stand: "setup_file failed".
bool is_setup_of_bats(std::string_view name);
bool is_teardown_of_bats(std::string_view name);

// The lines that look like failures ("error:", "not ok", "E   assert", "panic:", ...), or say what was
// expected and what was there ("Received: 6"), with what is indented below them, in their order; lines that
// were left out between them are "...". At most `bytes_max`; "" when there is no such line.
std::string telling_lines(std::string_view text, std::size_t bytes_max);

// Where most lines begin, or end, with the same word ("pass 1", "pass 2"), the others, as telling_lines()
// gives them; "" where no word is that frequent.
std::string unusual_lines(std::string_view text, std::size_t bytes_max);

// The beginning of a text without the word that the cut would break.
// REQUIRES: valid UTF-8.
std::string_view whole_words(std::string_view text, std::size_t bytes_max);

// The part of a text that tells most, in `bytes_max`: all of it when it fits, also without its stacks, of
// which one line stays. Else its telling lines, else its beginning and its end. REQUIRES, of both: valid
// UTF-8.
std::string excerpt(std::string_view text, std::size_t bytes_max);

}  // namespace pawl::gates
