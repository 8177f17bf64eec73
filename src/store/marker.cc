#include "store/marker.h"

#include <algorithm>

namespace pawl::store {

StepRow row_of_marker(const StepStart& start, const Lease& lease, const std::string& attempt_id,
                      WallTime now) {
  return {.sandbox_run_id = start.sandbox_run_id,
          .run_id = lease.run_id,
          .phase_id = lease.phase_id,
          .attempt_id = attempt_id,
          .step_index = start.step_index,
          .gate_id = start.gate_id,
          .step_name = start.step_name,
          .label = start.label,
          .execution = start.execution,
          .sandbox_spec_hash = start.sandbox_spec_hash,
          .started_at = rfc3339(now),
          .episode = start.episode};
}

StepStart marker_in(const StepRow& row) {
  return {.sandbox_run_id = row.sandbox_run_id,
          .step_index = row.step_index,
          .gate_id = row.gate_id,
          .step_name = row.step_name,
          .label = row.label,
          .sandbox_spec_hash = row.sandbox_spec_hash,
          .execution = row.execution,
          .episode = row.episode};
}

std::int64_t charged_ms_of_lost(const StepRow& step, const Result<WallTime>& given_up) {
  const auto began = parse_rfc3339(step.started_at);
  if (!began || !given_up) return step.reserved_ms;
  const std::int64_t passed_ms = ms_between(*began, *given_up);
  return passed_ms < 0 ? step.reserved_ms : std::min(passed_ms, step.reserved_ms);
}

}  // namespace pawl::store
