// Keys of one object in a file of settings. The file may have equal keys in other objects: for plugins, reporters and
// dependencies. A detail of this room.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace pawl::gates {

// The object that has a runner's keys.
struct KeyObject {
  std::string_view name;     // "": only the outermost object
  bool is_required = false;  // keys of the outermost object do not count
};

struct OwnKey {
  std::string_view key;
  std::size_t end = 0;  // the place after the key, and after its quotes
};

// The keys, among `keys`, that this object has, in their order. Reads JSON, and JavaScript as far as brackets,
// strings and comments show its objects. An object without a name, such as the result of a function, counts as a part
// of the object around it. The results refer to `text`.
std::vector<OwnKey> own_keys(std::string_view text, std::span<const std::string_view> keys, KeyObject of);

// The same for the outermost mapping of a YAML file.
std::vector<OwnKey> own_keys_of_yaml(std::string_view text, std::span<const std::string_view> keys);

}  // namespace pawl::gates
