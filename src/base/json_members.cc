#include "base/json_members.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace pawl {
namespace {

// Fits the largest object that is written often, without a second allocation.
constexpr std::size_t kMembersUsual = 24;
constexpr std::size_t kBytesUsual = 1024;

}  // namespace

void JsonMembers::add(std::string_view key, std::size_t offset) {
  if (members_.empty()) members_.reserve(kMembersUsual);
  members_.push_back({.key = key, .offset = offset, .size = values_.size() - offset});
}

JsonMembers& JsonMembers::text(std::string_view key, std::string_view value) {
  if (values_.empty()) values_.reserve(kBytesUsual);
  const std::size_t offset = values_.size();
  append_json_string(values_, value);
  add(key, offset);
  return *this;
}

JsonMembers& JsonMembers::texts(std::string_view key, const std::vector<std::string>& values) {
  const std::size_t offset = values_.size();
  values_ += '[';
  for (const auto& value : values) {
    if (&value != &values.front()) values_ += ',';
    append_json_string(values_, value);
  }
  values_ += ']';
  add(key, offset);
  return *this;
}

JsonMembers& JsonMembers::number(std::string_view key, std::int64_t value) {
  char digits[std::numeric_limits<std::int64_t>::digits10 + 3];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value);
  return json(key, {digits, static_cast<std::size_t>(end.ptr - digits)});
}

JsonMembers& JsonMembers::boolean(std::string_view key, bool value) {
  return json(key, value ? "true" : "false");
}

JsonMembers& JsonMembers::json(std::string_view key, std::string_view value) {
  const std::size_t offset = values_.size();
  values_ += value;
  add(key, offset);
  return *this;
}

std::string JsonMembers::object() const {
  auto sorted = members_;
  std::ranges::sort(sorted, {}, &Member::key);
  std::size_t size = 2 + values_.size();
  for (const auto& member : sorted) size += member.key.size() + sizeof("\"\":,") - 1;
  std::string out;
  out.reserve(size);
  out += '{';
  for (const auto& member : sorted) {
    PAWL_CHECK(&member == sorted.data() || (&member)[-1].key != member.key);
    if (out.size() > 1) out += ',';
    out += '"';
    out += member.key;
    out += "\":";
    out.append(values_, member.offset, member.size);
  }
  out += '}';
  return out;
}

JsonMembers members_of(const Json& object) {
  JsonMembers out;
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) out.json(key, canonical(value));
  return out;
}

std::string canonical_array(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    out += value;
  }
  return out + "]";
}

}  // namespace pawl
