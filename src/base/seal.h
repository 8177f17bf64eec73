// A seal: a keyed hash that shows who wrote a text. Files below the state folder decide what happens next,
// and processes other than Pawl may write there. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace pawl {

// The seal of one record. `name` identifies the record, so that no record passes for another.
class Seal {
 public:
  // REQUIRES: `key` has kHashKeySize bytes.
  Seal(std::string key, std::string name) : key_(std::move(key)), name_(std::move(name)) {}
  std::string of(std::string_view text) const;  // kHashHexSize digits
  bool holds(std::string_view seal, std::string_view text) const;
  // The key of a party that may seal only what belongs to the record.
  std::string key_of_part() const;

  // The object {...} becomes {...,"seal":"<64 hex>"}. The seal is that of the bytes before ,"seal":.
  // REQUIRES: canonical JSON of an object with a member.
  std::string sealed(std::string object) const;
  // Whether `text` is an object of sealed().
  bool is_sealed(std::string_view text) const;

 private:
  std::string key_, name_;
};

}  // namespace pawl
