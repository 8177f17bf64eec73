// What to do with an open marker: design section 4 as a pure function.
#pragma once

#include <cstdint>
#include <optional>
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
  kProbe,      // the plan's probe is to be asked: after_probe() says what then
  kCancelled,  // of several episodes: an earlier one decides
  kProbed,     // it said that the effect happened: the step counts as done
};

// Whether SIGKILL ended a step: nobody knows then what it had done. A shell around the command says it in its
// exit code.
bool was_killed(const sandbox::SandboxRun& run);

// `execution` is that of the open marker.
Recovery decide_recovery(sandbox::Found found, plan::ResumePolicy policy, std::int64_t execution);

// Whether two owners of leases (or of attempts) were of one boot of a machine; false when nobody knows.
bool of_one_boot(std::string_view owner, std::string_view other);

// What a probe says, or what stands for it: a step without any sign that it began did not, unless the machine
// may have gone down since its marker, which takes what is not on disk yet.
std::optional<std::int64_t> answer_of(const sandbox::Salvage& salvaged, bool same_boot);

// `exit_code` of the probe; nothing when it could not answer.
Recovery after_probe(std::optional<std::int64_t> exit_code, std::int64_t execution);

// The words of the ledger's resume row.
std::string_view decision_name(Recovery recovery);
std::string_view found_name(Recovery recovery);

}  // namespace pawl::executor
