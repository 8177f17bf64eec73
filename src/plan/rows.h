// A plan as rows: one of what is of no phase, and one a phase, so that nobody who works on one phase reads
// the text of all. Made once, of a plan that parse.h has accepted; docs/adr/0020 says why not the text in
// parts.
//
// Canonical JSON of every member, what the text leaves out included: a default that a later version changes
// changes no run that is there.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::plan {

std::string common_row(const Common& common);
std::string phase_row(const Phase& phase);

// kCorrupt: it is no such row. A member that is not there is one that a later version added, and keeps its
// default; one that is unknown is ignored.
Result<Common> common_of_row(std::string_view row);
Result<Phase> phase_of_row(std::string_view row);

}  // namespace pawl::plan
