#include <algorithm>

#include "cli/context.h"
#include "cli/max_attempts.h"
#include "cli/render/say.h"
#include "cli/run_loop.h"
#include "executor/plans.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

struct ResumeOptions {
  StateOptions state;
  std::vector<std::string> runs;
  std::int64_t workers = 1;
  bool if_any = false, now = false;
  MaxAttempts max_attempts;
};

struct Chosen {
  std::vector<std::string> run_ids;
  Status others;  // the problem of a run that is left out
};

// Tables and objects that somebody changed cost no attempt. A new run does not wait for this check: its first step
// ends the run (docs/adr/0045).
Status check_evidence(const State& state, const std::string& run_id) {
  PAWL_OK(state.store->check_run(run_id));
  PAWL_TRY(const auto run, state.store->run(run_id));
  return run.state == store::RunState::kExecuting ? views::check_content_of(state, run) : Status();
}

// A store may have runs of several state folders. This one can't judge those of another key.
Result<bool> is_of_another_key(const State& state, const std::string& run_id) {
  PAWL_TRY(const auto head, state.store->head(run_id));
  return head && head->public_key != state.sealer->public_key();
}

Result<Chosen> named_runs(const State& state, const std::vector<std::string>& named) {
  Chosen out;
  for (const auto& text : named) {
    PAWL_TRY(std::string id, state.store->resolve_run(text));
    out.run_ids.push_back(std::move(id));
  }
  for (const auto& run_id : out.run_ids) PAWL_OK(check_evidence(state, run_id));
  return out;
}

// A damaged run does not keep the others from going on. A run that is over by its table alone is such a run.
Result<Chosen> open_runs(const State& state) {
  constexpr std::size_t kRunsMax = 100'000;
  Chosen out;
  PAWL_TRY(const auto runs, state.store->runs(kRunsMax));
  for (const auto& run : runs) {
    const bool is_open = run.state == store::RunState::kExecuting;
    PAWL_TRY(const bool is_others, is_of_another_key(state, run.run_id));
    if (is_others && !is_open) {
      tell("pawl: run {} is of another state folder, and is not looked at\n", run.run_id);
      continue;
    }
    if (auto holds = check_evidence(state, run.run_id); !holds)
      out.others = std::move(holds);
    else if (is_open)
      out.run_ids.push_back(run.run_id);
  }
  return out;
}

Status check_acknowledged(const ResumeOptions& options, store::Store& store, const std::string& run_id) {
  if (options.max_attempts.number == 0) return {};
  PAWL_TRY(const auto run, store.run(run_id));
  PAWL_TRY(const auto phases, store.phases(run_id));
  if (std::ranges::all_of(phases, [](const auto& phase) { return is_terminal(phase.state); }))
    return fail(ErrorKind::kInvalid, "run " + run_id + " is " + std::string(name(run.state)) +
                                         ": --max-attempts is for phases that are open; `pawl retry " +
                                         run_id + " PHASE` opens one");
  for (const auto& phase : phases) {
    if (is_terminal(phase.state) || options.max_attempts.number <= phase.max_attempts) continue;
    PAWL_TRY(const auto planned, executor::phase_of(store, run, phase.phase_id));  // the limit may be lowered
    PAWL_OK(check_acknowledged(options.max_attempts, phase.phase_id,
                               std::max(phase.max_attempts, planned.max_attempts)));
  }
  return {};
}

// Changes all runs or none: a refusal changes no run.
Status set_max_attempts(const ResumeOptions& options, const State& state,
                        const std::vector<std::string>& run_ids) {
  PAWL_OK(check_max_attempts(options.max_attempts));
  for (const auto& run_id : run_ids) PAWL_OK(check_acknowledged(options, *state.store, run_id));
  for (const auto& run_id : run_ids) PAWL_OK(set_max_attempts(options.max_attempts, state, run_id));
  return {};
}

// Durable when it returns: a row with who and when for each phase that waited.
Status let_go_on(const State& state, const std::vector<std::string>& run_ids) {
  PAWL_TRY(const auto who, this_operator(state, ""));
  for (const auto& run_id : run_ids) {
    PAWL_TRY(const auto phases, state.store->operator_go_on(run_id, who, os::SystemClock().wall()));
    for (const auto& phase_id : phases) tell("pawl: {} goes on now\n", phase_id);
  }
  return {};
}

int go_on(const ResumeOptions& options, const State& state, std::vector<std::string> run_ids) {
  if (const auto status = set_max_attempts(options, state, run_ids); !status) {
    const int code = report(status.error());
    return status.error().kind == ErrorKind::kInvalid ? kUsage : code;
  }
  if (options.now)
    if (const auto status = let_go_on(state, run_ids); !status) return report(status.error());
  return run_loop(state, {.state = options.state, .run_ids = std::move(run_ids), .workers = options.workers});
}

int none_is_open(const ResumeOptions& options) {
  const Error none{.kind = ErrorKind::kNotFound, .message = "no run is open; `pawl status` lists them"};
  if (!options.if_any) return report(none);
  tell("pawl: {}\n", none.message);
  return kDone;
}

int resume(const ResumeOptions& options) {
  // A service may start before the first run has made a state folder.
  const bool is_service = options.if_any && options.runs.empty() && !names_folder(options.state);
  if (is_service)
    if (const auto folder = find_folder(options.state);
        !folder && folder.error().kind == ErrorKind::kNotFound)
      return none_is_open(options);
  const auto state = open_state(options.state);
  if (!state) return report(state.error());
  auto chosen = options.runs.empty() ? open_runs(*state) : named_runs(*state, options.runs);
  if (!chosen) return report(chosen.error());
  const int others = chosen->others ? kDone : report(chosen->others.error());
  if (!chosen->run_ids.empty()) return std::max(others, go_on(options, *state, std::move(chosen->run_ids)));
  return others != kDone ? others : none_is_open(options);
}

}  // namespace

void add_resume(const Command& program) {
  const Command command = program.add("resume", "Continue runs that were interrupted, killed or retried");
  auto options = std::make_shared<ResumeOptions>();
  command.option("RUN", options->runs,
                 "Runs: an id, a unique part of its start or end, or `last` (else all open ones)");
  command.option("--workers", options->workers, "Phases at once: of several runs, and where a plan allows it",
                 {1, 64});
  command.flag("--if-any", options->if_any, "Exit code 0 when no run is open, for services");
  command.flag("--now", options->now, "Let phases go on that wait for a time, a provider, or a credential");
  add_max_attempts_options(command, options->max_attempts, "open phase");
  add_state_options(command, options->state);
  command.footer(
      "Waits for steps that still run, records steps that ended meanwhile, and treats steps with a "
      "lost result as `resume`\nof the plan says. Joins a run that another process works on: no "
      "phase runs twice.\n\nExample:\n  pawl resume last");
  command.on_run([options] { return resume(*options); });
}

}  // namespace pawl::cli
