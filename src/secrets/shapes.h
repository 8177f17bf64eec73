// What secrets look like: the published shapes of tokens, and words that guard a value that looks random. The
// room's door.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::secrets {

struct Found {
  std::string kind;  // "github_token"
  std::size_t offset = 0, size = 0;
};

// Secrets in `text`, which is a line or several, without those that overlap an earlier one; by offset. In the
// time of a few passes over it, whatever it holds (RE2). Thread-safe.
std::vector<Found> find(std::string_view text);

// An RE2 pattern that matches wherever find() or find_guarded() would find something, and rarely elsewhere:
// for a first look at much text. None but a private key goes beyond the line that it matches in.
std::string hint_pattern();

// The values of assignments to names like `password` that are as random as a secret is, in quotes or not.
// Heuristic: for people and verdicts, not for redaction. Thread-safe.
std::vector<Found> find_random(std::string_view text);

// What stands behind names that guard a secret, in quotes or not: `password=x`, `--password x`, lines of
// .netrc, headers with credentials; behind `token` and the like, what looks random. Heuristic: for redaction,
// where too much is better than too little. Not in an order. Thread-safe.
std::vector<Found> find_guarded(std::string_view text);

// What a secret of each shape begins with, to look for it in base64 or hexadecimal digits.
std::vector<std::string> beginnings();

// The names of the kinds that find() knows, sorted.
std::vector<std::string> kinds();

}  // namespace pawl::secrets
