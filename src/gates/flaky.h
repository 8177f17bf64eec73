// Several runs of one gate on the same content: whether their results differ, and the gate's verdict then. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// The result of one run of a gate. REQUIRES: the run is over.
struct GateRun {
  std::vector<Signal> signals;
  bool passed = false;
  std::set<std::string> failing;  // tests that failed, as far as its signals judge them
};
GateRun run_of(const GateFacts& facts);

// Whether only one of the two runs passed, or both failed in different tests.
bool differ(const GateRun& one, const GateRun& other);

// The result of a gate after all of its runs, in their order. Runs that do not differ have the result of the first
// run. Otherwise each signal that failed in one run and passed in another is flaky. A signal of tests is also flaky
// when different tests failed. Any other signal that failed in both runs is not flaky. A flaky signal fails and is
// never missing: another attempt may help. With `flaky_passes` it passes when a whole run passed; it stays flaky.
// REQUIRES: `runs` is not empty, and only the last run may differ from the first.
GateRun settled(std::vector<GateRun> runs, bool flaky_passes);

}  // namespace pawl::gates
