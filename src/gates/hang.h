// A step that reached its time limit: how much time it had, and which test ran last.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// The last test that began, by the output. A TAP stream only names tests that ended: its result is "after NAME", with
// the last such test. "" when the output names no test.
std::string last_test_in(std::string_view output);

// Adds the time limit and the last test to the signal. No effect unless the step timed out.
void report_hang(const StepFacts& step, Signal& signal);
std::vector<Detail> hang_details();

}  // namespace pawl::gates
