// How much a benchmark does. tests/bench/parts_test.py asks only whether each gives its figures, and sets
// PAWL_BENCH_PART to the part of the work that is enough for it: 0.02, say. The values mean nothing then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

inline int amount(int whole) {
  const char* part = std::getenv("PAWL_BENCH_PART");
  return part == nullptr ? whole : std::max(1, static_cast<int>(whole * std::atof(part)));
}
