// Stores a plan as rows: one for the common part, and one for each phase. Work on one phase then reads the
// text of that phase only. Rows are made once, from a plan that parse.h accepted. docs/adr/0020 says why the
// plan's text is not split into parts instead.
//
// A row is canonical JSON of every member, including members that the plan's text leaves out. A default that
// a later version changes therefore changes no existing run.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::plan {

std::string common_row(const Common& common);
std::string phase_row(const Phase& phase);

// kCorrupt: the text is not such a row. An absent member keeps its default, because only a later version
// writes it. An unknown member is ignored.
Result<Common> common_of_row(std::string_view row);
Result<Phase> phase_of_row(std::string_view row);

}  // namespace pawl::plan
