// Seals of the caches that this room writes below objects/. Caches decide what a step sees, and processes
// other than Pawl may write there. A cache is believed only with a seal, which needs the folder's key. A
// detail of this room. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"

namespace pawl::workspace {

// The seal of one record. `name` identifies the record, so that no record passes for another.
class Seal {
 public:
  // REQUIRES: `key` has kHashKeySize bytes.
  Seal(std::string key, std::string name) : key_(std::move(key)), name_(std::move(name)) {}
  std::string of(std::string_view text) const;  // kHashHexSize digits.
  bool holds(std::string_view seal, std::string_view text) const;

 private:
  std::string key_, name_;
};

class Workspaces;

// Stores a record of a few lines, below git/ or merges/. Not durable.
Status keep_record(const Workspaces& workspaces, std::string_view kind, const std::string& name,
                   std::string_view text);
// nullopt: there is no record, or it does not have the seal of this folder's key.
std::optional<std::string> record_of(const Workspaces& workspaces, std::string_view kind,
                                     const std::string& name);

}  // namespace pawl::workspace
