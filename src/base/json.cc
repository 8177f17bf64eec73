#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"

template class nlohmann::basic_json<>;
template class std::map<std::string, nlohmann::json, std::less<>>;
template class std::vector<nlohmann::json>;

namespace pawl {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the well-formed UTF-8 sequence at the start of `text`, or 0 (RFC 3629: no overlong forms, no
// surrogates, no code above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_value(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      out += "null";
      return;
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case Json::value_t::number_integer:
      out += fmt::to_string(value.get<std::int64_t>());
      return;
    case Json::value_t::number_unsigned:
      out += fmt::to_string(value.get<std::uint64_t>());
      return;
    case Json::value_t::string:
      append_json_string(out, value.get_ref<const std::string&>());
      return;
    case Json::value_t::array: {
      char separator = '[';
      for (const auto& item : value) {
        out += separator;
        append_value(out, item);
        separator = ',';
      }
      out += separator == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::object: {
      char separator = '{';
      for (const auto& [key, item] : value.items()) {
        out += separator;
        append_json_string(out, key);
        out += ':';
        append_value(out, item);
        separator = ',';
      }
      out += separator == '{' ? "{}" : "}";
      return;
    }
    case Json::value_t::number_float:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  PAWL_CHECK(!"canonical JSON holds integers, strings, booleans, null, arrays and objects only");
}

// Builds a value like nlohmann's own handler, but also refuses excessive depth, duplicate keys and fractions.
// nlohmann's parser with a callback has a second set of keys for each object, and costs twice as much.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string problem;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t, const string_t&) override {
    note("a number that is no integer");
    return put(nullptr);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not possible in JSON
  bool start_object(std::size_t) override { return start(Json::value_t::object); }
  bool start_array(std::size_t) override { return start(Json::value_t::array); }
  bool key(string_t& name) override {
    const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) note("duplicate key '" + name + "'");
    member_ = &member->second;
    return true;
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    failure_ = Error{.kind = ErrorKind::kInvalid, .message = "not JSON: " + std::string(error.what())};
    // Other exceptions have no position: a number that no double can represent (1e999).
    if (dynamic_cast<const Json::parse_error*>(&error) != nullptr)
      failure_->column = static_cast<std::int64_t>(byte);
    return false;
  }
  std::optional<Error> take_failure() { return std::move(failure_); }

 private:
  void note(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }
  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    if (!open_.back()->is_array()) {
      *member_ = std::move(value);
      return member_;
    }
    auto& items = open_.back()->get_ref<Json::array_t&>();
    items.push_back(std::move(value));
    return &items.back();
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool start(Json::value_t type) {
    if (open_.size() >= kJsonDepthMax) {
      problem = fmt::format("nested deeper than {}", kJsonDepthMax);
      return false;
    }
    open_.push_back(place(Json(type)));
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;  // path from the root; only the innermost container grows, so pointers stay valid
  Json* member_ = nullptr;   // the member of the innermost object that the next value fills
  std::optional<Error> failure_;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F; };
  out += '"';
  while (!text.empty()) {
    // Most text needs no escape, and is appended at once.
    const auto length_of_plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, plain) - text.begin());
    out += text.substr(0, length_of_plain);
    text.remove_prefix(length_of_plain);
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t length = 1;
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20) {
          out += fmt::format("\\u{:04x}", byte);
        } else if (length = utf8_length(text); length == 0) {
          out += kReplacement;
          length = 1;
        } else {
          out += text.substr(0, length);
        }
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string canonical(const Json& value) {
  std::string out;
  append_value(out, value);
  return out;
}

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  const bool parsed = Json::sax_parse(text, &builder);
  if (auto failure = builder.take_failure()) return std::unexpected(*std::move(failure));
  if (!parsed || !builder.problem.empty()) return fail(ErrorKind::kInvalid, builder.problem);
  return std::move(builder.root);
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  // A larger number would become negative.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return found->is_number_unsigned() && found->get<std::uint64_t>() > kMost ? 0 : found->get<std::int64_t>();
}

bool flag_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const Json& list_in(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

const Json& object_in(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte <= 0x7E) {
      out.append(each == '\\' ? 2 : 1, each);
    } else {
      out += "\\x" + to_hex({&each, 1});
    }
  }
  return out;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  return text;
}

}  // namespace pawl
