// Recognizes secrets: the published shapes of tokens, and values after words that guard a secret. A public
// header of the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::secrets {

struct Found {
  std::string kind;  // "github_token"
  std::size_t offset = 0, size = 0;
};

// Secrets in `text`, which is a line or several, without those that overlap an earlier one; by offset. Takes
// the time of a few passes over `text`, whatever its content (RE2). Thread-safe.
std::vector<Found> find(std::string_view text);

// An RE2 pattern that matches wherever find() or find_guarded() would find a secret, and rarely elsewhere:
// for a first pass over much text. Only a private key extends beyond the line of the match.
std::string hint_pattern();

// The part of hint_pattern() for find_guarded().
std::string hint_of_guards();

// The values of assignments to names like `password` that are as random as a secret, in quotes or not.
// Heuristic: for people and verdicts, not for redaction. Thread-safe.
std::vector<Found> find_random(std::string_view text);

// Values after names that guard a secret, in quotes or not: `password=x`, `--password x`, lines of .netrc and
// .pgpass, headers with credentials, options of commands, statements of SQL, blocks and lists of YAML and JSON.
// After `token` and similar names, only values that look random. Heuristic: for redaction, where too much is
// better than too little. Unordered. Thread-safe.
std::vector<Found> find_guarded(std::string_view text);

// Whether the value of a name that guards a secret may stand in the line after `line`: a block of YAML, or a
// name in a list of names and values. find_guarded() finds it in a text with both lines.
bool opens_value(std::string_view line);
// Whether a line is blank or a comment: such lines may stand between the two, at most kEmptyLinesMax.
bool is_empty_line(std::string_view line);
inline constexpr int kEmptyLinesMax = 8;

// The first bytes of the secrets of each shape, to search for them in base64 or hexadecimal digits.
std::vector<std::string> beginnings();

// The names of the kinds that find() knows, sorted.
std::vector<std::string> kinds();

}  // namespace pawl::secrets
