#include "agent/fields.h"

#include <algorithm>
#include <string>

#include "agent/agent.h"
#include "agent/body.h"

namespace pawl::agent {
namespace {

std::unexpected<Error> invalid(std::string_view field, const std::string& what) {
  return fail(ErrorKind::kInvalid, std::string(field) + ": " + what);
}

bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    // U+0080 to U+009F are control characters, too.
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

}  // namespace

Status check_text(std::string_view field, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max)
    return invalid(field, std::to_string(text.size()) + " bytes are more than " + std::to_string(bytes_max));
  if (!is_valid_utf8(text)) return invalid(field, "it is not UTF-8");
  return {};
}

Status check_word(std::string_view field, std::string_view text) {
  PAWL_OK(check_text(field, text, kIdBytesMax));
  if (has_control(text)) return invalid(field, "it has a control character");
  return {};
}

Status check_id(std::string_view field, std::string_view text) {
  if (text.empty()) return invalid(field, "it is empty");
  return check_word(field, text);
}

Status check_json(std::string_view field, std::string_view text) {
  PAWL_OK(check_text(field, text, kResultBytesMax));
  // The grammar of JSON allows 1e400 and half of a surrogate pair, which no Json value can hold.
  if (!Json::accept(text))
    return invalid(field, "it is not JSON, or has a number or a character that nothing can hold");
  return {};
}

Status check_number(std::string_view field, std::int64_t number) {
  if (number < 0 || number > kNumberMax)
    return invalid(field, std::to_string(number) + " is not in 0 to " + std::to_string(kNumberMax));
  return {};
}

Status check_details(const Json& details) {
  if (!details.is_object()) return invalid("details", "they are not an object");
  const bool plain = std::ranges::all_of(details, [](const Json& value) {
    return value.is_string() || value.is_number_integer() || value.is_boolean();
  });
  if (!plain) return invalid("details", "a value is neither a string, nor an integer, nor a boolean");
  if (canonical(details).size() > kDetailsBytesMax)
    return invalid("details", "they are more than " + std::to_string(kDetailsBytesMax) + " bytes");
  return {};
}

}  // namespace pawl::agent
