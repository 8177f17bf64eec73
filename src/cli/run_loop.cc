#include "cli/run_loop.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/render/progress.h"
#include "cli/render/question_reporter.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "executor/credentials.h"
#include "executor/worker.h"
#include "gates/gates.h"
#include "os/process.h"
#include "sandbox/backend.h"
#include "views/budget.h"
#include "views/provider_wait.h"
#include "views/seen.h"
#include "views/status.h"

namespace pawl::cli {
namespace {

// Prints what the workers do.
class Reporter final : public executor::WorkersObserver {
 public:
  Reporter(Progress& progress, Tiers tiers) : progress_(progress), tiers_(std::move(tiers)) {}
  std::unique_ptr<executor::Observer> of_worker(int worker) override {
    return std::make_unique<ProgressReporter>(progress_, worker, tiers_);
  }
  void waits(const std::string& waits_for) override {
    if (!waits_for.empty()) progress_.line(lines_of("waiting: {}", waits_for));
  }

 private:
  Progress& progress_;
  const Tiers tiers_;
};

// The reasons why a run that this process leaves does not go on.
struct RunWaits {
  std::optional<store::BudgetRow> spent;  // its budget, when that is spent
  views::ProviderWaits providers;
};

void print_summary(std::FILE* out, store::Reader& store, const store::RunRow& run,
                   const std::vector<store::PhaseRow>& phases) {
  say_to(out, "\nrun {} is {}\n", run.run_id, name(run.state));
  std::size_t width = 5;
  for (const auto& phase : phases) width = std::max(width, phase.phase_id.size());
  for (const auto& phase : phases) {
    say_to(out, "  {:<{}}  {:<9}  {:<20}  attempts {}/{}  {}\n", phase.phase_id, width, name(phase.state),
           name(phase.outcome), phase.attempts_used, phase.max_attempts, visible(phase.last_failure_reason));
  }
  if (const auto head = views::ledger_head(store, run.run_id); !head.empty())
    say_to(out, "  ledger head {}\n", head);
}

// The phase whose agent does not take its command line, as the plan of the run has it.
const store::PhaseRow* refused_command_line(const std::vector<store::PhaseRow>& phases) {
  const auto found = std::ranges::find_if(phases, [](const auto& phase) {
    return phase.state == store::PhaseState::kFailed &&
           gates::is_refused_command_line(phase.last_failure_reason);
  });
  return found == phases.end() ? nullptr : &*found;
}

void print_next(std::FILE* out, const store::RunRow& run, const std::vector<store::PhaseRow>& phases,
                const std::string& where, const RunWaits& waits) {
  const std::string id = run.run_id;
  const auto& spent = waits.spent;
  const auto lacks = [](const auto& each) { return views::has_no_credential(each.second); };
  const auto has_no_money = [](const auto& each) { return views::has_no_money(each.second); };
  if (!spent && std::ranges::any_of(waits.providers, lacks))
    return say_to(out, "Next: pawl cancel {}{}   then a new run whose plan has `credentials`\n", id, where);
  if (!spent && views::any_is_for_a_person(waits.providers))
    return say_to(out, "Next: {}, then pawl resume {}{} --now\n",
                  std::ranges::any_of(waits.providers, has_no_money) ? "pay, or set the credential right"
                                                                     : "set the credential right",
                  id, where);
  if (spent)
    return say_to(out, "Next: pawl budget {0}{1} {2}   then pawl resume {0}{1}\n", id, where,
                  cap_option(*spent));
  switch (run.state) {
    case store::RunState::kComplete:
      say_to(out, "Next: pawl diff {0}{1}   pawl apply {0}{1}   pawl verify {0}{1}\n", id, where);
      break;
    case store::RunState::kFailed:
      if (const auto* phase = refused_command_line(phases))
        return say_to(out, "Next: correct the plan, then {}\n", retry_command(run, *phase));
      say_to(out, "Next: pawl inspect {0}{1}   pawl retry {0} PHASE{1}   then pawl resume {0}{1}\n", id,
             where);
      break;
    case store::RunState::kExecuting:
      say_to(out, "Next: pawl resume {}{}\n", id, where);
      break;
    case store::RunState::kCancelled:
      say_to(out, "Next: pawl retry {0}{1}   then pawl resume {0}{1}\n", id, where);
      break;
  }
}

// Returns " --dir FOLDER" when the printed commands would not find the folder from here.
std::string where_option(const State& state, const LoopOptions& options) {
  const auto found = find_folder({.dir = "", .store = options.state.store});
  return found && *found == state.folder ? "" : " --dir " + shell_word(state.folder);
}

// A stopped agent goes on as often as a step may be executed. After that its attempt has failed, like any
// other.
std::string what_goes_on(store::Reader& store, const std::vector<store::PhaseRow>& phases) {
  for (const auto& phase : phases) {
    if (phase.state != store::PhaseState::kExecuting) continue;
    const auto attempts = store.attempts(phase.run_id, phase.phase_id);
    if (!attempts || attempts->empty() || !attempts->back().finished) continue;
    return fmt::format("attempt {} has failed, and the next one of {} starts afresh",
                       attempts->back().attempt_id, phase.phase_id);
  }
  return "nothing is lost";
}

// The exit code of a run as it stands: 0, 1 (cancelled or not over), 11, 12.
int exit_code_of(const store::RunRow& run, const std::vector<store::PhaseRow>& phases) {
  const auto any = [&](store::PhaseOutcome outcome) {
    return std::ranges::any_of(phases, [&](const auto& phase) { return phase.outcome == outcome; });
  };
  if (any(store::PhaseOutcome::kFailedUnrecoverable)) return kUnrecoverable;
  if (any(store::PhaseOutcome::kEscalate)) return kNeedsPerson;
  return run.state == store::RunState::kComplete ? kDone : kGeneral;
}

// The exit code for one run when this process leaves it.
int code_of(const store::RunRow& run, const std::vector<store::PhaseRow>& phases, const RunWaits& waits,
            const Status& worked) {
  if (os::interrupted() && run.state == store::RunState::kExecuting) return kInterrupted;
  if (!worked && executor::lacks_credential(worked.error())) return kNeedsPerson;
  if (!worked) return worked.error().kind == ErrorKind::kForged ? kLedgerCorrupted : kGeneral;
  if (waits.spent) return kNeedsPerson;
  const int code = exit_code_of(run, phases);
  return views::any_is_for_a_person(waits.providers) ? std::max(code, kNeedsPerson) : code;
}

// Reports `error`, and returns the exit code. A missing credential needs a person.
int report_end(const Error& error) {
  const int code = report(error);
  return executor::lacks_credential(error) ? kNeedsPerson : code;
}

int finish(const State& state, const LoopOptions& options, const Status& worked) {
  auto& store = *state.store;
  // The summary comes last, because its last line says what to do next.
  const int reported = worked ? kDone : report_end(worked.error());
  int worst = kDone;
  for (const auto& run_id : options.run_ids) {
    const auto run = store.run(run_id);
    const auto phases = store.phases(run_id);
    const auto held = worked ? store.check_run(run_id) : Status();
    if (!held || !run || !phases) {
      worst = std::max(worst, report(!held ? held.error() : !run ? run.error() : phases.error()));
      continue;
    }
    // The summary follows whatever happened, so that a projection that can't be written is not reported.
    static_cast<void>(ledger::project_run(store, state.folder, run_id));
    const RunWaits waits{.spent = views::spent_budget(store, *run),
                         .providers = views::provider_waits(store, *phases)};
    const int code = code_of(*run, *phases, waits, worked);
    worst = std::max(worst, code);
    const auto seen = views::seen_in_part(state, *run);
    if (options.state.json) {
      Json summary = views::summary_json(store, *run, seen);
      summary["exit_code"] = code;
      print_json(summary);
      continue;
    }
    print_summary(stdout, store, *run, *phases);
    if (seen) say("  {}\n", seen_text(*seen));
    if (code == kInterrupted)
      say("Interrupted. A step that runs goes on under its supervisor; nothing is lost.\n");
    if (waits.spent) say("Stopped: {}; {}.\n", budget_text(*waits.spent), what_goes_on(store, *phases));
    for (const auto& [phase_id, wait] : waits.providers) say("  {}\n", visible(wait_text(phase_id, wait)));
    print_next(stdout, *run, *phases, where_option(state, options), waits);
  }
  return worked ? worst : reported;
}

// Degraded mechanisms are always reported: each step of the run lacks them.
void say_degraded(sandbox::Backend& backend) {
  for (const auto& mechanism : backend.degraded())
    tell("pawl: {} is degraded: {} (`pawl sandbox health` says what to do)\n", mechanism.name,
         mechanism.detail);
}

// Runs before any claim: a machine on which the run can't go on must cost no attempt.
Status check_backend(const State& state, const std::vector<std::string>& run_ids) {
  PAWL_OK(executor::check_bases(state, run_ids));
  PAWL_TRY(const auto first, state.store->run(run_ids.front()));
  PAWL_TRY(const auto backend, sandbox::make_backend(first.backend));
  state.workspaces->stop_when(os::interrupted);  // It removes what killed runs left, which may take minutes.
  auto status = executor::check_machine(state, *backend, run_ids);
  state.workspaces->stop_when({});
  if (status) say_degraded(*backend);
  if (!status)
    status.error().message +=
        "\nNo attempt was spent. See `pawl sandbox health`, then go on with `pawl resume" +
        (run_ids.size() == 1 ? " " + run_ids.front() : "") + "`.";
  return status;
}

// Runs before any claim, as check_backend() does.
Result<secrets::Redactor::Values> credentials_of(const State& state,
                                                 const std::vector<std::string>& run_ids) {
  auto values = executor::credentials_of_runs(state, run_ids);
  if (!values && executor::lacks_credential(values.error()))
    values.error().message += "\nNo attempt was spent. Provide it, then go on with `pawl resume" +
                              (run_ids.size() == 1 ? " " + run_ids.front() : "") + "`.";
  return values;
}

Result<Tiers> tiers_of(const State& state, const std::vector<std::string>& run_ids) {
  Tiers out;
  for (const auto& run_id : run_ids) {
    PAWL_TRY(out[run_id], state.store->tiers(run_id));
  }
  return out;
}

Status run_and_report(const State& state, const LoopOptions& options, secrets::Redactor::Values credentials) {
  Progress progress(options.state.json ? stderr : stdout, state.folder);
  PAWL_TRY(auto tiers, tiers_of(state, options.run_ids));
  const QuestionReporter questions(state, options.run_ids, progress);
  Reporter reporter(progress, std::move(tiers));
  return executor::run_workers(state,
                               {.run_ids = options.run_ids,
                                .workers = options.workers,
                                .credentials = std::move(credentials),
                                .stop = os::interrupted},
                               reporter);
}

// A large work is collected and judged by one thread after the other. By default each has memory of its own,
// and what one has freed stays there: twice as much is held as is ever in use.
void share_freed_memory() {
  constexpr int kMappedBytesMin = 1 << 20;  // larger pieces are given back when they are freed
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
}

}  // namespace

int run_loop(const State& state, const LoopOptions& options) {
  os::catch_interrupts();
  share_freed_memory();
  if (const auto status = check_backend(state, options.run_ids); !status) return report(status.error());
  auto credentials = credentials_of(state, options.run_ids);
  if (!credentials) return report_end(credentials.error());
  return finish(state, options, run_and_report(state, options, *std::move(credentials)));
}

}  // namespace pawl::cli
