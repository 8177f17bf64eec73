// Bounds on a YAML text. They are checked on its event stream before any node is built, since a plan may be
// hostile. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/parse.h"

namespace pawl::plan {

constexpr std::size_t kDepthMax = 32;          // the deepest known plan has 8 levels
constexpr std::int64_t kNodesMax = 3'000'000;  // with aliases expanded: 100,000 phases of 20 nodes fit
constexpr std::size_t kAliasesMax = 1000;

// Returns the first problem of the text as YAML: too large, not UTF-8, a NUL, a syntax error, a duplicate
// key, a second document, deep nesting, anchors that explode or refer to themselves. Returns no value when
// the text is safe to load.
std::optional<Problem> check_yaml(std::string_view text, const std::string& file);

}  // namespace pawl::plan
