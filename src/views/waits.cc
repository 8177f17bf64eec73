#include "views/waits.h"

namespace pawl::views {

std::string_view name(WaitsFor waits_for) {
  switch (waits_for) {
    case WaitsFor::kNothing:
      return "nothing";
    case WaitsFor::kPerson:
      return "person";
    case WaitsFor::kExecutor:
      return "executor";
    case WaitsFor::kBackend:
      return "backend";
    case WaitsFor::kLease:
      return "lease";
    case WaitsFor::kLock:
      return "lock";
    case WaitsFor::kNotBefore:
      return "not_before";
    case WaitsFor::kBudget:
      return "budget";
  }
  return "";
}

}  // namespace pawl::views
