// What to do with an open marker: design section 4 as a pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/plan.h"
#include "sandbox/client.h"

namespace pawl::executor {

enum class Recovery {
  kReattach,   // wait for the supervisor
  kAdopt,      // record the spooled result
  kReExecute,  // a new marker, one execution more
  kSkip,       // the attempt is counted as lost
  kEscalate,   // a person decides
  kCrashLoop,  // no execution is left: the attempt failed
};

// `execution` is that of the open marker.
Recovery decide_recovery(sandbox::Found found, plan::ResumePolicy policy, std::int64_t execution);

// The words of the ledger's resume row.
std::string_view decision_name(Recovery recovery);
std::string_view found_name(Recovery recovery);

}  // namespace pawl::executor
