#include <fmt/format.h>
#include <malloc.h>

#include <variant>

#include "cli/context.h"
#include "cli/made_plan.h"
#include "cli/max_attempts.h"
#include "cli/plan_file.h"
#include "cli/render/say.h"
#include "cli/render/waiting.h"
#include "cli/run_loop.h"
#include "executor/credentials.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "os/process.h"
#include "sandbox/backend.h"

namespace pawl::cli {
namespace {

struct RunOptions {
  StateOptions state;
  std::string plan;
  PlanRequest request;
  std::int64_t workers = 1;
  MaxAttempts max_attempts;
};

Status check_acknowledged(const RunOptions& options, const plan::Plan& plan) {
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      PAWL_OK(check_acknowledged(options.max_attempts, phase.id, phase.max_attempts));
  return {};
}

Result<std::string> folder_for(const RunOptions& options, const plan::Plan& plan,
                               const std::string& plan_file) {
  PAWL_TRY(const std::string source, executor::source_folder(plan, os::folder_of(plan_file)));
  return folder_of_new_run(options.state, source);
}

// Warns of pointers of Git LFS: an agent that expects a picture and gets three lines of text costs money.
Status tell_pointers(const State& state, const std::string& run_id) {
  PAWL_TRY(const auto run, state.store->run(run_id));
  PAWL_TRY(const auto pointers, state.workspaces->lfs_pointers(run.base_id));
  if (pointers.empty()) return {};
  tell(
      "pawl: {} file(s) of the source are pointers of Git LFS, and agents and gates get no more of them: "
      "{}{}; "
      "after `git lfs pull` a plan without source.ref has the contents\n",
      pointers.size(), printable(pointers.front()), pointers.size() > 1 ? ", ..." : "");
  return {};
}

Result<std::string> create_run(const RunOptions& options, const PlanFile& file, const State& state) {
  os::SystemClock clock;
  os::SystemRandom random;
  // A snapshot may take minutes and gigabytes, and so does the removal of what a killed run left of one. An
  // interrupted snapshot removes its copy.
  os::catch_interrupts();
  state.workspaces->stop_when(os::interrupted);
  const Waiting waiting("making the run", options.state.json, [&]() -> std::string {
    const auto& so_far = state.workspaces->so_far();
    if (so_far.files == 0) return {};
    return fmt::format("{} files, {} MiB read or copied", so_far.files.load(), so_far.bytes.load() >> 20U);
  });
  PAWL_TRY(const std::string run_id, executor::start_run(*state.store, *state.workspaces, clock, random,
                                                         {.plan = *file.parsed.plan,
                                                          .plan_text = file.text,
                                                          .plan_file = file.file,
                                                          .policy_text = file.policy_text,
                                                          .backend = sandbox::default_backend()}));
  state.workspaces->stop_when({});
  PAWL_OK(set_max_attempts(options.max_attempts, state, run_id));
  PAWL_OK(tell_pointers(state, run_id));
  PAWL_OK(ledger::project_run(*state.store, state.folder, run_id));
  return run_id;
}

// Gives the agents their keys. Returns false after it has told which program has none.
bool take_keys(const RunOptions& options, plan::Plan& plan) {
  const auto added = executor::add_keys(plan);
  print_problems(without_keys(options.plan, added.lacking), "error: ");
  for (const auto& remark : added.remarks) tell("pawl: {}\n", remark);
  return added.lacking.empty();
}

struct Made {
  State state;
  std::string run_id;
};

// Returns the new run, or an exit code. The plan with all its phases is freed when it returns.
std::variant<Made, int> made(const RunOptions& options) {
  auto file = read_plan(options.plan, options.state.json);
  if (!file) {
    report(file.error());
    return kUsage;
  }
  if (file->parsed.plan) check_source(options.plan, *file);
  print_problems(file->parsed.problems, "error: ");
  if (!file->parsed.plan) return kUsage;
  print_problems(file->parsed.warnings, "warning: ");
  if (const auto status = check_acknowledged(options, *file->parsed.plan); !status) {
    report(status.error());
    return kUsage;
  }
  if (!file->unstartable.empty()) {
    print_problems(file->unstartable, "error: ");
    tell(
        "pawl: No attempt was spent, and no run was made. Show the program to the steps, then run the plan "
        "again.\n");
    return kNeedsPerson;
  }
  // A plan that is made here was never seen by `pawl check`.
  if (!options.request.agent.empty())
    print_problems(unguarded_gates(options.plan, *file->parsed.plan), "warning: ");
  if (!take_keys(options, *file->parsed.plan)) return kNeedsPerson;
  auto folder = folder_for(options, *file->parsed.plan, file->file);
  if (!folder) {
    report(folder.error());
    return kUsage;
  }
  auto state = open_state(options.state, *folder, true);
  if (!state) return report(state.error());
  auto run_id = create_run(options, *file, *state);
  if (!run_id) {
    const int code = report(run_id.error());
    return run_id.error().kind == ErrorKind::kInvalid ? kUsage : code;
  }
  say_to(options.state.json ? stderr : stdout, "run {}  {}\n", *run_id, file->parsed.plan->workflow);
  return Made{.state = *std::move(state), .run_id = *std::move(run_id)};
}

// Reports why no plan can be made, and returns the exit code.
int report_unmade(const Error& error) {
  const int code = report(error);
  // A program that no step finds, or no key: `pawl run PLAN` ends likewise.
  if (error.kind == ErrorKind::kNotFound || executor::lacks_credential(error)) return kNeedsPerson;
  return error.kind == ErrorKind::kInvalid ? kUsage : code;
}

Status check_options(const RunOptions& options) {
  PAWL_OK(check_plan_request(options.request, options.plan));
  PAWL_OK(check_max_attempts(options.max_attempts));
  return check_made_attempts(options.request, options.max_attempts);
}

// The options with the plan that is to be run; or an exit code.
std::variant<RunOptions, int> with_plan(RunOptions options) {
  if (const auto status = check_options(options); !status) return report_unmade(status.error());
  if (options.request.agent.empty()) return options;
  const auto needs = plan_needs(options.request);
  if (!needs) return report_unmade(needs.error());
  auto file = make_plan(options.request, *needs, options.state);
  if (!file) {
    const int code = report(file.error());
    return file.error().kind == ErrorKind::kInvalid ? kUsage : code;
  }
  options.plan = *std::move(file);
  say_to(options.state.json ? stderr : stdout, "plan {}\n", options.plan);
  return options;
}

int run(const RunOptions& given) {
  const auto wanted = with_plan(given);
  if (const int* code = std::get_if<int>(&wanted)) return *code;
  const auto& options = std::get<RunOptions>(wanted);
  const auto found = made(options);
  // A large plan took some hundred MiB in small pieces. The loop works for hours and does not need them.
  static_cast<void>(malloc_trim(0));
  if (const int* code = std::get_if<int>(&found)) return *code;
  const auto& made = std::get<Made>(found);
  return run_loop(made.state, {.state = options.state, .run_ids = {made.run_id}, .workers = options.workers});
}

}  // namespace

void add_run(const Command& program) {
  const Command command = program.add("run", "Run a plan: claim phases, run agents, judge them with gates");
  auto options = std::make_shared<RunOptions>();
  command.option("PLAN", options->plan, "The plan's file");
  add_plan_request(command, options->request);
  command.option("--workers", options->workers, "Phases at once, where the plan allows it", {1, 64});
  add_max_attempts_options(command, options->max_attempts, "phase");
  add_state_options(command, options->state);
  command.footer(
      "Ctrl-C stops claiming and leaves the run resumable: a running step continues under its "
      "supervisor, and `pawl\nresume RUN` waits for it. Exit codes: 0 done, 2 invalid plan, 11 a "
      "person must decide, 12 failed for good,\n130 interrupted, 1 any other error.\n\nExample:\n  "
      "pawl run plan.yaml --workers 2\n  pawl run --agent claude_code --goal \"Fix the flaky test\" --gate "
      "\"npm test\"");
  command.on_run([options] { return run(*options); });
}

}  // namespace pawl::cli
