// A reader of large JSON documents that holds only one item in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"

namespace pawl::gates {

// Calls `take(path, item)` for each item of the arrays, and each member of the objects, at one of `paths`. A
// path is the keys below the top object, joined by dots. It passes through arrays on its way: "runs.results"
// is the results of all runs. All other values are skipped.
//
// `plain` has paths of strings, numbers and booleans that are direct members of objects; these are items too.
// The form "a[]" in `plain` reports null for each object that begins in the array at "a", which has to be on
// the way to another path.
//
// The first failure of `take` ends the reading. Returns how often each of `paths`, and each path on the way
// to one, had an array or an object. Paths that never had one are left out. kInvalid: the text is not JSON, or not an
// object. kExhausted: the nesting is too deep, or an item has more than a million values.
using TimesFound = std::map<std::string, std::int64_t, std::less<>>;
Result<TimesFound> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& paths,
    const std::function<Status(std::string_view path, const Json& item)>& take,
    const std::vector<std::string_view>& plain = {});

// Whether the path was found exactly once.
inline bool is_once(const TimesFound& found, std::string_view path) {
  const auto times = found.find(path);
  return times != found.end() && times->second == 1;
}

// Numbers and booleans that a report states about itself, by path, from the items of `plain`.
class Totals {
 public:
  // Stores an integer or a boolean; the last value of a path counts. Returns false for other types.
  bool take(std::string_view path, const Json& item);
  // The stored value. nullopt when no value is stored, or when it has another type.
  std::optional<std::int64_t> number(std::string_view path) const;
  std::optional<bool> boolean(std::string_view path) const;

 private:
  std::map<std::string, Json, std::less<>> said_;
};

}  // namespace pawl::gates
