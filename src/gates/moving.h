// Names of tests that change from run to run although the work does not: they contain a time, an address or a
// random word. Two runs on base show which names these are. Pure.
#pragma once

#include "gates/base.h"
#include "gates/report.h"

namespace pawl::gates {

struct GateFacts;

// Whether every test that the work seems to have lost may exist under another name. For each lost test there
// is a new test of the same form ("at 12:00:01", "at 12:00:07") or in the same group ("test_a[x]",
// "test_a[y]"). Then a second run on base can show whether these names move. Returns false when another failure fails
// the gate too, or when base ran twice already, because a second run could then change no result.
bool names_may_move(const GateFacts& facts);

// Combines two runs on base into the names that the work is held to. The work is held to each name that both runs
// have. Names that differ count by their form or group: the work is held to the number of them. A name without a
// counterpart is unsteady and ignored, unless the second run may have ended before it. If `second` has no usable
// inventory of tests, `first` is returned, marked as run twice.
OnBase held_to_both(const OnBase& first, const OnBase& second);

// The report with the names that `base` holds its tests to. Moving names become their form, numbered by
// status as equal names of a report are.
Report with_settled_names(Report report, const Inventory& base);

}  // namespace pawl::gates
