// Finds the word that the user probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// The candidate nearest to `word`, within an edit distance of 2 or a third of the length of `word`. Two
// swapped neighbours count as one edit. No value: no candidate is that near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pawl
