// Makes a new run that shares the work of another run before a point, and goes on from there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cli/context.h"
#include "cli/plan_file.h"
#include "cli/render/say.h"
#include "executor/credentials.h"
#include "executor/start_run.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

struct ForkOptions {
  StateOptions state;
  std::string run, from, plan, reason;
};

// Parses "PHASE" or "PHASE:ATTEMPT".
Result<store::ForkPoint> point_of(const std::string& run_id, const std::string& text) {
  const auto colon = text.find(':');
  store::ForkPoint point{.run_id = run_id, .phase_id = text.substr(0, colon)};
  if (colon == std::string::npos) return point;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, point.attempt);
  if (parsed.ec != std::errc() || parsed.ptr != end || point.attempt < 1)
    return fail(ErrorKind::kInvalid, "--from " + text + ": expected PHASE or PHASE:ATTEMPT, like fix:2");
  return point;
}

Result<executor::RunInput> other_plan(const std::string& path, bool json) {
  PAWL_TRY(auto file, read_plan(path, json));
  print_problems(file.parsed.problems, "error: ");
  if (!file.parsed.plan) return fail(ErrorKind::kInvalid, "--plan " + path + ": it is not valid");
  print_problems(file.parsed.warnings, "warning: ");
  print_problems(file.unstartable, "warning: ");
  return executor::RunInput{.plan = *std::move(file.parsed.plan),
                            .plan_text = std::move(file.text),
                            .plan_file = std::move(file.file),
                            .policy_text = std::move(file.policy_text),
                            .backend = ""};  // the backend of the run
}

Status go_on_elsewhere(const ForkOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string from_run, state.store->resolve_run(options.run));
  executor::ForkInput input;
  PAWL_TRY(input.fork.from, point_of(from_run, options.from));
  PAWL_TRY(input.fork.who, this_operator(state, options.reason));
  if (!options.plan.empty()) {
    PAWL_TRY(input.plan, other_plan(options.plan, options.state.json));
  }
  PAWL_TRY(const auto from, state.store->run(from_run));
  PAWL_OK(executor::check_not_collected(*state.store, *state.workspaces, from));
  PAWL_OK(views::check_evidence(state, from));
  os::SystemClock clock;
  os::SystemRandom random;
  PAWL_TRY(const auto run_id, executor::fork_run(*state.store, *state.workspaces, clock, random, input));
  PAWL_OK(ledger::project_run(*state.store, state.folder, run_id));
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  std::vector<std::string> shared;
  for (const auto& phase : phases)
    if (is_terminal(phase.state)) shared.push_back(phase.phase_id);
  const auto& point = input.fork.from;
  if (options.state.json) {
    print_json({{"run_id", run_id},
                {"from", {{"run_id", from_run}, {"phase_id", point.phase_id}, {"attempt", point.attempt}}},
                {"shared", shared}});
    return {};
  }
  say("run {} goes on from {} at attempt {} of {}\nshared: {}\nNext: pawl resume {}\n", run_id, from_run,
      point.attempt, point.phase_id,
      shared.empty() ? "nothing but the base" : fmt::format("{}", fmt::join(shared, ", ")), run_id);
  return {};
}

}  // namespace

void add_fork(const Command& program) {
  const Command command = program.add("fork", "Continue from an earlier point of a run, as a new run");
  auto options = std::make_shared<ForkOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("--from", options->from, "PHASE or PHASE:ATTEMPT: the first to run again");
  command.option("--plan", options->plan, "Another plan; its phases before the point must be the same");
  command.option("--reason", options->reason, "The reason, for the ledger");
  add_state_options(command, options->state);
  command.footer(
      "The new run starts with the base of the old run and the work of every phase before the point, "
      "without paying for\nthem again. With PHASE:ATTEMPT the first attempt gets the feedback of the "
      "attempt before. The old run stays as it is.\n\nExample:\n  pawl fork last --from fix:2 "
      "--reason \"with another prompt\" --plan plan2.yaml");
  command.on_run([=] {
    const auto status = go_on_elsewhere(*options);
    if (status) return static_cast<int>(kDone);
    const int code = report(status.error());
    if (executor::lacks_credential(status.error())) return static_cast<int>(kNeedsPerson);
    return status.error().kind == ErrorKind::kInvalid ? static_cast<int>(kUsage) : code;
  });
}

}  // namespace pawl::cli
