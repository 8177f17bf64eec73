// Finds the word that the user probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// The candidate nearest to `word`. Its edit distance is at most 2, or a third of the length of `word` if that
// is more. Two swapped neighbours count as one edit. No value: no candidate is that near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pawl
