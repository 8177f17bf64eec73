// JSON as Pawl writes and reads it.
//
// Canonical JSON is the format of the ledger and the input of hashes. Keys are sorted by their UTF-8 bytes.
// There are no spaces, and numbers are integers. Strings are escaped minimally: \" \\ \b \f \n \r \t, other
// controls as \u00xx in lower case, everything else as raw UTF-8. docs/ledger-format.md specifies it; golden
// files pin it.
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

// Instantiated once, in json.cc: in each file they took a tenth of the build time.
extern template class nlohmann::basic_json<>;
extern template class std::map<std::string, nlohmann::json, std::less<>>;
extern template class std::vector<nlohmann::json>;

namespace pawl {

using Json = nlohmann::json;  // objects are std::map: iteration is already in key order

// REQUIRES: `value` has no floating-point number and no binary value; otherwise the program aborts. Bytes
// that are not UTF-8 become U+FFFD, so that text from a sandbox never prevents a ledger row.
std::string canonical(const Json& value);
// Appends `text` as a JSON string, quotes included, by canonical()'s rules.
void append_json_string(std::string& out, std::string_view text);

// A field of untrusted JSON. If it is missing or has another type, or `object` is not an object: "", 0, false
// or an empty value. Never throws, unlike value() and at().
std::string text_in(const Json& object, const char* key);
std::int64_t integer_in(const Json& object, const char* key);
bool flag_in(const Json& object, const char* key);
const Json& list_in(const Json& object, const char* key);
const Json& object_in(const Json& object, const char* key);

constexpr std::size_t kJsonDepthMax = 64;  // deeper than any row of Pawl's, and a bound on hostile input
// Parses with a bound on depth. Never throws. The caller bounds the size. kInvalid: not JSON (with `column` =
// byte offset + 1), too deep, a duplicate key, or a number that is not an integer of 64 bits.
Result<Json> parse_json(std::string_view text);

// `text` with U+FFFD in place of each byte that is not part of well-formed UTF-8.
std::string valid_utf8(std::string_view text);
// The longest prefix of at most `bytes_max` bytes that ends at a character boundary. REQUIRES: valid UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);

// Makes untrusted text safe for a JSON string and a terminal: bytes outside printable ASCII become `?`.
std::string printable(std::string text);
// Like printable(), but writes such a byte as \xNN and doubles backslashes.
std::string escaped(std::string_view text);

}  // namespace pawl
