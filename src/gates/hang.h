// A step that reached its time limit: how much time it had, and which test ran last.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// The test that an output names as the last one to begin. A TAP stream only names tests that ended: for it,
// the result is the last of them as "after NAME". "" when the output names no test.
std::string last_test_in(std::string_view output);

// Adds the time limit and the last test to the signal. No effect unless the step timed out.
void tell_hang(const StepFacts& step, Signal& signal);
std::vector<Detail> hang_details();

}  // namespace pawl::gates
