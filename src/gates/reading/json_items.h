// Large JSON, an item at a time: only one of them is in memory.
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

// Calls `take(path, item)` for each item of the arrays and members of the objects at one of `paths`: keys
// below the top object, joined by dots; an array on the way is passed through ("runs.results" is the results
// of all runs). What is elsewhere is skipped. The first failure of `take` ends the reading. Returns the paths
// that were there with an array or object, as often as they were. kInvalid: not JSON, or no object.
// kExhausted: nested too deeply, or an item of more than a million values. `plain`: paths of strings, numbers
// and booleans below objects only; they are items, too. "a[]" among them is told with null whenever an object
// in the array at "a", which is on the way, begins.
Result<std::vector<std::string>> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& paths,
    const std::function<Status(std::string_view path, const Json& item)>& take,
    const std::vector<std::string_view>& plain = {});

// The numbers and booleans that a report says of itself, by path, out of the items of `plain`.
class Totals {
 public:
  // Whether `path` is one of them; then it is kept.
  bool take(std::string_view path, const Json& item);
  // What was said last; nothing when it was not, or when it is another type.
  std::optional<std::int64_t> number(std::string_view path) const;
  std::optional<bool> boolean(std::string_view path) const;

 private:
  std::map<std::string, Json, std::less<>> said_;
};

}  // namespace pawl::gates
