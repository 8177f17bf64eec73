// retry, skip, cancel: guarded transitions by a person, each with a ledger row.
#include <fmt/format.h>

#include "cli/context.h"
#include "cli/render/say.h"
#include "executor/open_world.h"
#include "executor/start_run.h"
#include "sandbox/backend.h"

namespace pawl::cli {
namespace {

struct OperatorOptions {
  StateOptions state;
  std::string run, phase, reason;
};

constexpr const char* kQueuedAgain = "is QUEUED again; go on with: pawl resume";

using Verb = Result<std::vector<std::string>> (store::Store::*)(const std::string&, const std::string&,
                                                                const store::Operator&, WallTime);

Status act(const OperatorOptions& options, Verb verb, const char* past, bool ends_steps) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  PAWL_TRY(const auto run, state.store->run(run_id));
  workspace::Hold hold;  // objects that were found still exist when the run is open again
  if (verb == &store::Store::operator_retry) {
    PAWL_TRY(hold, state.workspaces->hold());
    PAWL_OK(executor::check_not_collected(*state.store, *state.workspaces, run));
  }
  PAWL_TRY(auto who, this_operator(state, options.reason));
  who.isolation_class = sandbox::isolation_class_of(run.backend);
  PAWL_TRY(const auto changed,
           (state.store.get()->*verb)(run_id, options.phase, who, os::SystemClock().wall()));
  // Steps of the changed phases may still have running supervisors. Their results would be refused, so they
  // end now.
  const Status paid = ends_steps ? executor::end_work_of(state, run_id, changed) : Status();
  PAWL_OK(ledger::project_run(*state.store, state.folder, run_id));
  if (options.state.json) {
    print_json({{"run_id", run_id}, {"phases", changed}});
    return paid;
  }
  for (const auto& phase : changed) {
    const bool goes_on =
        verb == &store::Store::operator_skip && phase != changed.front() && !options.phase.empty();
    say("{} {}\n", phase, goes_on ? kQueuedAgain : past);
  }
  return paid;
}

struct OperatorCommand {
  const char* word;
  const char* what;    // the first line of its help
  const char* footer;  // the last lines of its help
  Verb verb;
  const char* past;  // what the command says of each phase that it changed
  bool ends_steps;   // a running step is ended
};

void add_operator(const Command& program, const OperatorCommand& added) {
  const Command command = program.add(added.word, added.what);
  auto options = std::make_shared<OperatorOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.option("PHASE", options->phase, "The phase (else every phase to which the verb applies)");
  command.option("--reason", options->reason, "The reason, for the ledger");
  add_state_options(command, options->state);
  command.footer(added.footer);
  command.on_run([=] {
    const auto status = act(*options, added.verb, added.past, added.ends_steps);
    return status ? kDone : report(status.error());
  });
}

}  // namespace

void add_retry(const Command& program) {
  add_operator(program,
               {"retry", "Queue a failed, skipped or cancelled phase again",
                "Phases that were skipped because PHASE failed are queued with it. Without PHASE, every "
                "failed, skipped "
                "or\ncancelled phase is queued, also one that a person skipped or cancelled.\n"
                "attempts_used restarts at 0; attempts_total continues. Then run `pawl resume RUN`.\n\n"
                "Example:\n  pawl retry last fix --reason \"the test machine was down\"",
                &store::Store::operator_retry, kQueuedAgain, false});
}

void add_skip(const Command& program) {
  add_operator(
      program,
      {"skip", "Skip a phase; the run continues without it",
       "Phases that were stopped because it had failed are queued again. Without PHASE, every failed and "
       "every\nunfinished phase is skipped.\n\n"
       "Example:\n  pawl skip last docs --reason \"not needed this time\"",
       &store::Store::operator_skip, "is SKIPPED", true});
}

void add_cancel(const Command& program) {
  add_operator(
      program,
      {"cancel", "Cancel a run or a phase; a running step is ended",
       "A result that arrives later is refused.\n\nExample:\n  pawl cancel last --reason \"wrong plan\"",
       &store::Store::operator_cancel, "is CANCELLED", true});
}

}  // namespace pawl::cli
