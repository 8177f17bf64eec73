// JSON as Pawl writes and reads it.
//
// Canonical JSON is the ledger's format and what hashes are taken of: keys sorted by their UTF-8 bytes, no
// spaces, integers only, strings escaped minimally (\" \\ \b \f \n \r \t, other controls as \u00xx in lower
// case, everything else as raw UTF-8). docs/ledger-format.md specifies it; golden files pin it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Compiled once, in json.cc: as a part of each file they took a tenth of a build.
extern template class nlohmann::basic_json<>;
extern template class std::map<std::string, nlohmann::json, std::less<>>;
extern template class std::vector<nlohmann::json>;

namespace pawl {

using Json = nlohmann::json;  // objects are std::map: iteration is already in key order

// REQUIRES: no floating-point number and no binary anywhere in `value` (programmer error: aborts).
// Bytes that are not UTF-8 become U+FFFD: text from a sandbox must never stop a ledger row.
std::string canonical(const Json& value);
// Appends `text` as a JSON string, quotes included, by canonical()'s rules.
void append_json_string(std::string& out, std::string_view text);

// A field of what nobody has vouched for: "", 0, false or an empty one when it is not there, is something
// else, or `object` is none. Never throws, as value() and at() do.
std::string text_in(const Json& object, const char* key);
std::int64_t integer_in(const Json& object, const char* key);
bool flag_in(const Json& object, const char* key);
const Json& list_in(const Json& object, const char* key);
const Json& object_in(const Json& object, const char* key);

constexpr std::size_t kJsonDepthMax = 64;  // deeper than any row of ours; a parser bomb is deeper
// Parses with a bound on depth. kInvalid, with `column` = byte offset + 1, when it is not JSON, has duplicate
// keys or a number that is no integer of 64 bits, or is too deep. The caller bounds the size. Never throws.
Result<Json> parse_json(std::string_view text);

// `text` with every byte sequence that is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
// The longest prefix of at most `bytes_max` bytes that ends on a character boundary. REQUIRES: valid UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);

// Text that an attacker wrote, fit for a JSON string and a terminal: bytes outside of printable ASCII become
// `?`.
std::string printable(std::string text);
// The same with what it would replace as \xNN, byte by byte, and backslashes doubled.
std::string escaped(std::string_view text);

}  // namespace pawl
