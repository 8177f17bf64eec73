// The word that somebody meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// The nearest of `candidates` to `word` (edit distance at most 2, or a third of its length; neighbours
// that changed places are one edit), or nothing.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pawl
