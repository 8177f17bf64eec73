// Decides what to do with an open marker, as pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/plan.h"
#include "supervisor/step_runner.h"

namespace pawl::executor {

enum class Recovery {
  kReattach,   // wait for the supervisor
  kAdopt,      // record the spooled result
  kReExecute,  // a new marker, one more execution
  kSkip,       // the attempt is counted as lost
  kEscalate,   // a person decides
  kCrashLoop,  // no execution is left: the attempt failed
  kProbe,      // run the plan's probe; after_probe() decides then
  kCancelled,  // with several episodes: an earlier one decides
  kProbed,     // the probe found the effect: the step counts as done
};

// Whether SIGKILL ended a step: then its progress is unknown. A shell around the command reports the signal
// in its exit code.
bool was_killed(const sandbox::SandboxRun& run);

// `execution` is that of the open marker.
Recovery decide_recovery(supervisor::Found found, plan::ResumePolicy policy, std::int64_t execution);

// Whether two owners of leases (or of attempts) ran in the same boot of one machine; false when it is
// unknown.
bool of_one_boot(std::string_view owner, std::string_view other);

// The response of a probe, or its replacement. A step without any sign that it began did not happen. After a
// reboot since its marker that is unknown, because unwritten data was lost: no value.
std::optional<std::int64_t> answer_of(const supervisor::Salvage& salvaged, bool same_boot);

// `exit_code` of the probe; no value when the probe could not respond.
Recovery after_probe(std::optional<std::int64_t> exit_code, std::int64_t execution);

// The words of the ledger's resume row.
std::string_view decision_name(Recovery recovery);
std::string_view found_name(Recovery recovery);

}  // namespace pawl::executor
