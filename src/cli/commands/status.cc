#include "views/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "os/clock.h"
#include "os/process.h"
#include "views/budget.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsShown = 50, kRunsListedMax = 100'000;
constexpr std::int64_t kWatchEveryMs = 1000;

struct Shown {
  std::string text;  // for people; one JSON object on a line with --json
  bool over = false;
};

// Marks a run of the list that goes on only when a person does something.
std::string waits_in_list(store::Reader& store, const store::RunRow& run) {
  if (run.state == store::RunState::kFailed) return "  (waits for a person)";
  return views::spent_budget(store, run) ? "  (its budget is spent)" : "";
}

// Lines for people: the commands that move a run which only a person can move.
std::string waits_text(const views::RunStatus& status) {
  const std::string& run_id = status.run.run_id;
  if (status.spent)
    return fmt::format("the run waits for its budget: {}\n  pawl budget {} {}\n", budget_text(*status.spent),
                       run_id, cap_option(*status.spent));
  std::string out;
  for (const auto& [phase_id, wait] : status.waits)
    out += fmt::format("{}\n  {}\n", visible(wait_text(phase_id, wait)), wait_command(run_id, wait));
  const auto failed = std::ranges::find(status.phases, status.failed_phase, &store::PhaseRow::phase_id);
  if (failed == status.phases.end()) return out;
  return out + fmt::format("phase {0} waits for a person\n  {1}{2}\n", status.failed_phase,
                           status.has_work
                               ? fmt::format("pawl approve {} {}   or: ", run_id, status.failed_phase)
                               : "",
                           retry_command(status.run, *failed));
}

Result<Shown> list_runs(store::Reader& store, bool json) {
  PAWL_TRY(auto runs, store.runs(json ? kRunsListedMax : kRunsShown + 1));
  Shown out;
  if (json) {
    out.text = canonical(views::to_json(runs)) + "\n";
    return out;
  }
  if (runs.empty()) out.text = "no runs yet; start one with: pawl run plan.yaml\n";
  const bool more = runs.size() > kRunsShown;
  if (more) runs.pop_back();
  for (const auto& run : runs)
    out.text += fmt::format("{}  {:<9}  {:.19}Z  {}{}\n", run.run_id, name(run.state), run.created_at,
                            visible(run.workflow_id), waits_in_list(store, run));
  if (more) out.text += "and older ones: `pawl status --json` has them\n";
  return out;
}

std::string phase_line(const store::PhaseRow& phase, std::size_t width) {
  return fmt::format(
      "  {:<{}}  {:<9}  {:<20}  attempts {}/{}  {}\n", phase.phase_id, width, name(phase.state),
      name(phase.outcome), phase.attempts_used, phase.max_attempts,
      phase.lease_owner.empty() ? visible(phase.last_failure_reason) : "held by " + phase.lease_owner);
}

std::string text_of(const views::RunStatus& status) {
  const auto& run = status.run;
  std::string out =
      fmt::format("run {} is {}  ({})\n", run.run_id, name(run.state), visible(run.workflow_id));
  if (const auto& from = status.forked_from)
    out += fmt::format("forked from {} at attempt {} of {}\n", from->run_id, from->attempt, from->phase_id);
  for (const auto& row : status.budgets)
    if (row.cap) out += "budget: " + budget_text(row) + "\n";
  std::size_t width = 5;
  for (const auto& phase : status.phases) width = std::max(width, phase.phase_id.size());
  for (const auto& tier : status.tiers) {
    out += visible(tier.name) + (tier.parallel ? " (parallel)\n" : "\n");
    for (const auto& phase : status.phases)
      if (phase.tier_index == tier.tier_index) out += phase_line(phase, width);
  }
  if (status.not_judged_with) out += unseen_text(*status.not_judged_with) + "\n";
  if (status.seen_in_part) out += seen_text(*status.seen_in_part) + "\n";
  out += waits_text(status);
  for (const auto& question : status.questions)
    out += fmt::format("{}\n  {}\n", question_line(question), answer_command(run.run_id));
  return out;
}

Result<Shown> show_run(const State& state, const std::string& text, bool json) {
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto status, views::status_of(state, run_id));
  return Shown{.text = json ? canonical(to_json(status)) + "\n" : text_of(status),
               .over = status.run.state != store::RunState::kExecuting};
}

// print_out() reports a failed write at the end of the command.
void print(const Shown& shown, bool json) {
  if (json)
    static_cast<void>(print_for_programs(shown.text));
  else
    say("{}", shown.text);
}

// Looks until the run is over or a person interrupts. A terminal is drawn anew; elsewhere the changed text is
// appended.
int watch(const std::function<Result<Shown>()>& look, bool json) {
  os::catch_interrupts();
  const bool terminal = os::is_terminal(fileno(stdout));
  std::string last;
  for (;;) {
    const auto shown = look();
    if (!shown) return report(shown.error());
    if (shown->text != last) {
      if (terminal) say("\x1b[H\x1b[2J");
      print(*shown, json);
    }
    std::fflush(stdout);
    last = shown->text;
    if (shown->over) return kDone;
    os::SystemClock().sleep_ms(kWatchEveryMs);
    if (os::interrupted()) return kInterrupted;
  }
}

int status(const StateOptions& options, const std::string& run, bool watches) {
  const auto state = open_state(options);
  if (!state) return report(state.error());
  const auto look = [&] {
    return run.empty() ? list_runs(*state->store, options.json) : show_run(*state, run, options.json);
  };
  if (watches) return watch(look, options.json);
  const auto shown = look();
  if (!shown) return report(shown.error());
  print(*shown, options.json);
  return kDone;
}

}  // namespace

void add_status(const Command& program) {
  const Command command = program.add("status", "List the runs, or the phases of one");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  auto watches = std::make_shared<bool>(false);
  command.option("RUN", *run, kRunHelp);
  command.flag("--watch", *watches, "Refresh every second until the run ends");
  add_state_options(command, *options);
  command.footer("Example:\n  pawl status last --watch");
  command.on_run([=] { return status(*options, *run, *watches); });
}

}  // namespace pawl::cli
