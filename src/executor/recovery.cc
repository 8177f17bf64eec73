#include "executor/recovery.h"

#include <csignal>

#include "base/planted.h"
#include "os/process.h"
#include "store/store.h"

namespace pawl::executor {
namespace {

constexpr std::int64_t kItDid = 0, kItDidNot = 1;  // exit codes of a probe

Recovery once_more(std::int64_t execution) {
  if (planted("crash_loop_without_end")) return Recovery::kReExecute;
  return execution >= store::kExecutionsPerStepMax ? Recovery::kCrashLoop : Recovery::kReExecute;
}

}  // namespace

bool was_killed(const sandbox::SandboxRun& run) {
  constexpr std::int64_t kKilledInShell = 128 + SIGKILL;  // POSIX, 2.8.2, and the practice of all shells
  const bool signaled =
      run.outcome == sandbox::Outcome::kSignaled && run.reason.empty() && run.signal == SIGKILL;
  return signaled || (run.outcome == sandbox::Outcome::kExited && run.exit_code == kKilledInShell);
}

Recovery decide_recovery(supervisor::Found found, plan::ResumePolicy policy, std::int64_t execution) {
  switch (found) {
    case supervisor::Found::kRunning:
      return Recovery::kReattach;
    case supervisor::Found::kSpooled:
      return Recovery::kAdopt;
    case supervisor::Found::kNothing:
      break;
  }
  switch (policy) {
    case plan::ResumePolicy::kReExecute:
      return once_more(execution);
    case plan::ResumePolicy::kProbe:
      return Recovery::kProbe;
    case plan::ResumePolicy::kSkip:
      return Recovery::kSkip;
    case plan::ResumePolicy::kEscalate:
      return Recovery::kEscalate;
  }
  return Recovery::kEscalate;
}

bool of_one_boot(std::string_view owner, std::string_view other) {
  const auto a = os::parse_identity(owner), b = os::parse_identity(other);
  return a && b && a->boot_id != os::kNoBoot && a->boot_id == b->boot_id;
}

std::optional<std::int64_t> answer_of(const supervisor::Salvage& salvaged, bool same_boot) {
  if (salvaged.began) return salvaged.exit_code;
  return same_boot ? std::optional(kItDidNot) : std::nullopt;
}

Recovery after_probe(std::optional<std::int64_t> exit_code, std::int64_t execution) {
  if (exit_code == kItDid) return Recovery::kProbed;
  return exit_code == kItDidNot ? once_more(execution) : Recovery::kEscalate;
}

std::string_view decision_name(Recovery recovery) {
  switch (recovery) {
    case Recovery::kReattach:
      return "reattach";
    case Recovery::kAdopt:
      return "adopt";
    case Recovery::kReExecute:
      return "re_execute";
    case Recovery::kSkip:
    case Recovery::kCrashLoop:
      return "skip";
    case Recovery::kEscalate:
      return "escalate";
    case Recovery::kCancelled:
      return "cancelled";
    case Recovery::kProbed:
      return "probed";
    case Recovery::kProbe:
      break;
  }
  return "";
}

std::string_view found_name(Recovery recovery) {
  switch (recovery) {
    case Recovery::kReattach:
      return "supervisor_alive";
    case Recovery::kAdopt:
      return "result_spooled";
    case Recovery::kReExecute:
    case Recovery::kSkip:
    case Recovery::kCrashLoop:
    case Recovery::kEscalate:
    case Recovery::kCancelled:
    case Recovery::kProbe:
    case Recovery::kProbed:
      return "nothing";
  }
  return "";
}

}  // namespace pawl::executor
