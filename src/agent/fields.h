// Checks of the fields that an agent writes, against the bounds of agent.h. Every error is kInvalid and names
// the field and the bound. A detail of this room.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace pawl::agent {

// 1 to kIdBytesMax bytes of UTF-8 without control characters.
Status check_id(std::string_view field, std::string_view text);
// As check_id(), but may be empty.
Status check_word(std::string_view field, std::string_view text);
// UTF-8 with any characters.
Status check_text(std::string_view field, std::string_view text, std::size_t bytes_max);
// JSON of at most kResultBytesMax bytes.
Status check_json(std::string_view field, std::string_view text);
// 0 to kNumberMax.
Status check_number(std::string_view field, std::int64_t number);
// An object of strings, integers and booleans, of at most kDetailsBytesMax bytes.
Status check_details(const Json& details);

}  // namespace pawl::agent
