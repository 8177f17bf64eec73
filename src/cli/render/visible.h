// Makes text that came out of a sandbox safe for people: it can't move a cursor, change colours, reorder what
// is shown, or hide. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace pawl::cli {

using VisitText = std::function<void(std::string_view)>;
// Visits the parts of the text in order. `plain` gets valid UTF-8 that is shown unchanged, also newlines and
// tabs. `escape` gets the replacement of one other character: \x1b for a control character, \u202e for one
// that reorders or is invisible, \xff for a byte that is not UTF-8.
void each_part(std::string_view text, const VisitText& plain, const VisitText& escape);

// Returns the same parts as one text, with its lines and tabs.
std::string spelled(std::string_view text);

// Returns equal JSON in which each hidden character is an escape like \u202e. A character above U+FFFF
// becomes a pair of escapes (RFC 8259, section 7).
std::string spelled_json(std::string_view json);

// Like spelled(), but one line: a tab becomes four spaces, a newline becomes \n.
std::string visible(std::string_view text);

// The text without the secrets whose shape is published: a person may have given one in the place of another word.
std::string without_secrets(std::string text);

// Returns one word for a shell, in quotes where it needs them. The shell interprets no part of it.
std::string shell_word(std::string_view text);

// The columns that a terminal needs for text of visible(): wide characters take two, combining ones none.
std::size_t columns_of(std::string_view text);
// The length in bytes of the longest beginning of at most `columns`; at least the first character.
std::size_t fitting_bytes(std::string_view text, std::size_t columns);

}  // namespace pawl::cli
