// Text that came out of a sandbox, for people: nothing in it can move a cursor, change colours, reorder what
// is shown or hide. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace pawl::cli {

using VisitText = std::function<void(std::string_view)>;
// The text in order: `plain` gets valid UTF-8 that shows as it is (newlines and tabs, too), `escape` what
// stands for one character that does not: \x1b of a control character, \u202e of one that reorders or is
// invisible, \xff of a byte that is no UTF-8.
void each_part(std::string_view text, const VisitText& plain, const VisitText& escape);

// The same as a text, with its lines and tabs.
std::string spelled(std::string_view text);

// Returns equal JSON in which each hidden character is an escape like \u202e. A character above U+FFFF
// becomes a pair of escapes (RFC 8259, section 7).
std::string spelled_json(std::string_view json);

// The same as one line: a tab is four spaces, a newline is \n.
std::string visible(std::string_view text);

// For a shell, in quotes where it needs them: one word, and nothing that a shell would do.
std::string shell_word(std::string_view text);

// What a terminal needs for text that visible() gave: wide characters take two columns, combining ones none.
std::size_t columns_of(std::string_view text);
// The longest beginning of at most `columns` (at least the first character), in bytes.
std::size_t fitting_bytes(std::string_view text, std::size_t columns);

}  // namespace pawl::cli
