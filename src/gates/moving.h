// Names of tests that differ from run to run although nothing else does: a time, an address or a random word
// is in them. Two runs on base show which they are. Pure.
#pragma once

#include "gates/base.h"
#include "gates/report.h"

namespace pawl::gates {

struct GateFacts;

// Whether all that the work seems to have lost may be there under other names: for each test that is gone
// there is a new one of the same form ("at 12:00:01", "at 12:00:07") or in the same group ("test_a[x]",
// "test_a[y]"). Then a second run on base says whether these names move. False where something else fails the
// gate, too, or base ran twice: such a run would change nothing.
bool names_may_move(const GateFacts& facts);

// Says what work is held to when base ran twice. Names that both runs have are held to one by one. Of those
// that differ, the ones of one form (or group) are held to by their number. One that has no counterpart comes
// and goes: nothing is held to it, unless the second run may have ended before it. `second` without an
// inventory that is known, or a lower bound, says nothing.
OnBase held_to_both(const OnBase& first, const OnBase& second);

// The report with the names that `base` holds its tests to. Names that move become their form, numbered by
// status, as a report's equal names are.
Report with_settled_names(Report report, const Inventory& base);

}  // namespace pawl::gates
