// A canonical JSON object (base/json.h) that is built member by member, without a tree of values. Used for
// objects that are written at every state transition.
//
// Members may be added in any order; object() sorts them. Keys must be unique, need no escapes, and outlive
// the object (mostly string literals). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pawl {

class JsonMembers {
 public:
  JsonMembers& text(std::string_view key, std::string_view value);
  JsonMembers& texts(std::string_view key, const std::vector<std::string>& values);
  JsonMembers& number(std::string_view key, std::int64_t value);
  JsonMembers& boolean(std::string_view key, bool value);
  // REQUIRES: `value` is canonical JSON.
  JsonMembers& json(std::string_view key, std::string_view value);

  std::string object() const;

 private:
  struct Member {
    std::string_view key;
    std::size_t offset, size;  // the value's, in values_
  };
  void add(std::string_view key, std::size_t offset);

  std::vector<Member> members_;
  std::string values_;
};

// The members of `object`, which must outlive the result.
JsonMembers members_of(const Json& object);

// The JSON array `[...]` of `values`, each canonical JSON.
std::string canonical_array(const std::vector<std::string>& values);

}  // namespace pawl
