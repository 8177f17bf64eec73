// The parts of a line of TAP: the name of a test without the parts that change from run to run, and its directive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::gates {

// Whether `text` starts with `word`, in any case of its letters. "skipped" does not start with "skip".
bool starts_word(std::string_view text, std::string_view word);

std::string_view without_blanks(std::string_view text);  // without blanks at its ends

// A name without the duration at its end: "boolean          120 ms" of pg_regress, "adds in 27ms" of bats,
// "adds (27 ms)", "adds - 1m 3s". A duration after a single space is a part of the name: "waits 5 ms".
std::string_view without_duration(std::string_view name);

// Whether a comment can name the tests that follow. It must not contain text that changes from run to run.
bool is_name(std::string_view comment);

// Splits "1 - a \# b # SKIP why" into {"a # b", "SKIP why"}. A test without a description gets its number as
// a name.
std::pair<std::string, std::string_view> description(std::string_view text, std::int64_t number);

// Whether `rest`, the text after a plan such as "1..3", is empty, a comment, or the list of todo tests of
// Test.pm. Other lines are output of a program: "1..3 of 10 done".
bool ends_plan(std::string_view rest);

}  // namespace pawl::gates
