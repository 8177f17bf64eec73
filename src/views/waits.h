// The kinds of events that a run can wait for.
#pragma once

#include <string_view>

namespace pawl::views {

enum class WaitsFor {
  kNothing,
  kPerson,     // a decision, or an answer to an agent
  kExecutor,   // a phase can go on, and no process works on it
  kBackend,    // no sandbox can be made on this machine
  kLease,      // an executor works on it
  kLock,       // another process holds a lock that all work needs
  kNotBefore,  // the next attempt may not start yet
  kBudget,     // the budget is spent, or reserved by open steps
};

std::string_view name(WaitsFor waits_for);  // nothing, person, executor, ..., as JSON has it

}  // namespace pawl::views
