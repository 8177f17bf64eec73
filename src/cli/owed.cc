#include "cli/owed.h"

#include "executor/told.h"
#include "secrets/redact.h"

namespace pawl::cli {

Status pay_what_is_owed(const State& state) {
  PAWL_TRY(const auto sandboxes, make_client(state.folder, "namespace"));
  const auto objects = workspace::object_store(*state.workspaces);
  PAWL_TRY(const auto redactor, secrets::open_redactor(state.folder));
  const auto journals = executor::open_journals(state.folder);
  os::SystemClock clock;
  os::SystemRandom random;
  return executor::pay_what_is_owed(
      {*state.store, *sandboxes, *objects, clock, random, *redactor, *journals});
}

}  // namespace pawl::cli
