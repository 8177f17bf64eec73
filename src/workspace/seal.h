// What this room writes below objects/ beside objects, and believes when it reads it again: caches that
// decide what a step sees. Who can write there need not be Pawl, so each has a seal that takes the folder's
// key. A detail of this room. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"

namespace pawl::workspace {

// Of one record. `name` says which, so that no record passes for another one.
class Seal {
 public:
  // REQUIRES: `key` has kHashKeySize bytes.
  Seal(std::string key, std::string name) : key_(std::move(key)), name_(std::move(name)) {}
  std::string of(std::string_view text) const;  // kHashHexSize digits
  bool holds(std::string_view seal, std::string_view text) const;

 private:
  std::string key_, name_;
};

class Workspaces;

// Records of a few lines: git/ and merges/. Not durable.
Status keep_record(const Workspaces& workspaces, std::string_view kind, const std::string& name,
                   std::string_view text);
// Nothing: there is none, or this folder's key did not seal it.
std::optional<std::string> record_of(const Workspaces& workspaces, std::string_view kind,
                                     const std::string& name);

}  // namespace pawl::workspace
