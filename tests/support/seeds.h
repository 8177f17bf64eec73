// The seeds of a property test. PAWL_SEED names the first one, and PAWL_ROUNDS their number.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace pawl::testing {

// Calls `run` with each seed, up to the first failure, whose message has the seed.
template <typename Run>
void with_seeds(unsigned usual_rounds, const Run& run) {
  const auto number = [](const char* name, unsigned usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : static_cast<unsigned>(std::stoul(text));
  };
  const unsigned first = number("PAWL_SEED", 1), rounds = number("PAWL_ROUNDS", usual_rounds);
  for (unsigned seed = first; seed < first + rounds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed);
  }
}

}  // namespace pawl::testing
