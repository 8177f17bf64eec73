// The marker of a step: its two forms, and the time that a marker without a result counts. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "store/verbs.h"

namespace pawl::store {

// The row of a marker that is written now. Reservations are added by reserve_for().
StepRow row_of_marker(const StepStart& start, const Lease& lease, const std::string& attempt_id,
                      WallTime now);
// The marker that the row says. Members that only the beginning of a step needs have their defaults.
StepStart marker_in(const StepRow& row);

// The time for which a lost step is charged, since its running time is unknown: the time since its marker, at
// most its reservation. After the clock was set back, or without one of the times: the whole reservation.
std::int64_t charged_ms_of_lost(const StepRow& step, const Result<WallTime>& given_up);

}  // namespace pawl::store
