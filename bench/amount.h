// Scales the work of a benchmark. tests/bench/parts_test.py only checks that each benchmark gives its
// figures. It sets PAWL_BENCH_PART to the fraction of the work that is enough for this, for example 0.02. The
// values have no meaning then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

inline int amount(int whole) {
  const char* part = std::getenv("PAWL_BENCH_PART");
  return part == nullptr ? whole : std::max(1, static_cast<int>(whole * std::atof(part)));
}
