// Phases whose work `pawl diff` and `pawl apply` lack.
#pragma once

#include <vector>

#include "store/rows.h"

namespace pawl::cli {

// Names these phases on stderr, and says why each is missing.
void report_missing(const std::vector<store::PhaseRow>& phases);

}  // namespace pawl::cli
