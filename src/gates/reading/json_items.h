// Large JSON, an item at a time: only one of them is in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"

namespace pawl::gates {

// Calls `take(key, item)` for each item of the arrays that the top object has below one of `keys`; what is
// below another key is skipped. The first failure of `take` ends the reading. Returns the keys of the object
// that were there with an array. kInvalid: not JSON, or no object. kExhausted: nested too deeply, or an item
// of more than a million values.
Result<std::vector<std::string>> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& keys,
    const std::function<Status(std::string_view key, const Json& item)>& take);

}  // namespace pawl::gates
