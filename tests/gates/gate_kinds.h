// The kinds of signals that a gate of a plan can require.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "os/file.h"
#include "support/places.h"

namespace pawl::testing {

// The list of docs/plan.schema.json. The tests plan.* compare it with the parser.
inline std::vector<std::string> gate_kinds() {
  const auto text = os::read_file(std::string(kSourceFolder) + "/docs/plan.schema.json", 1 << 20);
  const auto schema = parse_json(*text);
  return schema->at(Json::json_pointer("/$defs/gate/properties/signals/items/enum"))
      .get<std::vector<std::string>>();
}

}  // namespace pawl::testing
