#include "executor/recovery.h"

#include "store/store.h"

namespace pawl::executor {

Recovery decide_recovery(sandbox::Found found, plan::ResumePolicy policy, std::int64_t execution) {
  switch (found) {
    case sandbox::Found::kRunning:
      return Recovery::kReattach;
    case sandbox::Found::kSpooled:
      return Recovery::kAdopt;
    case sandbox::Found::kNothing:
      break;
  }
  switch (policy) {
    case plan::ResumePolicy::kReExecute:
      return execution >= store::kExecutionsPerStepMax ? Recovery::kCrashLoop : Recovery::kReExecute;
    case plan::ResumePolicy::kSkip:
      return Recovery::kSkip;
    case plan::ResumePolicy::kEscalate:
      return Recovery::kEscalate;
  }
  return Recovery::kEscalate;
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
      return "nothing";
  }
  return "";
}

}  // namespace pawl::executor
