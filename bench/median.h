// The median of several times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

inline double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}
