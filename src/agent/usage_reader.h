// What known agent programs used, read from what they print: one file a program in usage/, named after it.
//
// It is what the program says of itself, and as much to be believed as what an agent tells over its socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/episode.h"

namespace pawl::agent {

constexpr std::size_t kPrintedBytesMax = 4 << 20;  // of the end of a step's standard output
constexpr std::size_t kUsagesMax = 100;            // of one step: the last ones

// One a model or a conversation, without an id; none when nothing in `printed`, which an attacker may have
// written, is what the program prints. Tokens that came from a cache are no input tokens. `model`: for
// programs that do not name theirs.
using ReadUsage = std::vector<Usage>(std::string_view printed, const std::string& model);

// By the file's name; null: there is none.
ReadUsage* usage_reader(std::string_view name);

}  // namespace pawl::agent
