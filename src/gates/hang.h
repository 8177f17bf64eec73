// A step that ran out of its time: how much it had, and where it was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// The test that an output names as the last one to begin; in a TAP stream, which only names what ended, the
// last one that ended, as "after NAME". "" when it names none.
std::string last_test_in(std::string_view output);

// Says in the signal how much time the step had and which test began last. Of a step that timed out only.
void tell_hang(const StepFacts& step, Signal& signal);
std::vector<Detail> hang_details();

}  // namespace pawl::gates
