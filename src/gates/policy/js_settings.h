// The values of settings in a file of JavaScript, TypeScript or JSON, as far as they are written down as they are:
// texts, numbers and lists of texts. Pure. A detail of this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

struct JsValue {
  std::vector<std::string> texts;  // also `true`, `false` and numbers
  bool is_whole = true;            // false: it has more than these, such as a call, a variable or a mapping
};

// The values of a key in `content`, in their order. "test.include" is the key `include` of a mapping that is the value
// of `test`; a name without a dot has any place.
std::vector<JsValue> js_values(std::string_view content, std::string_view key);

}  // namespace pawl::gates
