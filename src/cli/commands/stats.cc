// Numbers of one run, or of all: attempts and how they ended, stuck phases, the cost of crashes.
#include "views/stats.h"

#include <fmt/format.h>

#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"

namespace pawl::cli {
namespace {

using views::Stats;

constexpr std::size_t kRunsMeasuredMax = 10'000;  // the newest

std::string resume_command(const views::StuckPhase& phase) { return "pawl resume " + phase.run_id; }

Json with_commands(const Stats& stats) {
  Json out = to_json(stats);
  for (std::size_t i = 0; i < stats.stuck.size(); ++i)
    out["stuck"][i]["command"] = resume_command(stats.stuck[i]);
  return out;
}

void print(const Stats& stats) {
  say("runs {}  phases {}  attempts {}\n", stats.runs, stats.phases, stats.attempts);
  say("phases by attempts used:");
  for (const auto& [attempts, phases] : stats.attempts_used) say("  {}: {}", attempts, phases);
  say("\nphases by state and cause:\n");
  for (const auto& [key, phases] : stats.states)
    say("  {:>5}  {:<9}  {}\n", phases, key.first, visible(key.second));
  say("steps {} ({} lost), {} in sandboxes\n", stats.steps, stats.lost_steps,
      duration_text(stats.sandbox_ms));
  say("resumed:");
  for (const auto& [decision, times] : stats.resumes) say("  {} {}", decision, times);
  say("{}\ncrash loops {}  doctor calls {}  replans {}  refused commits {}\n",
      stats.resumes.empty() ? "  nothing" : "", stats.crash_loops, stats.doctor_calls, stats.replans,
      stats.refusals.size());
  for (const auto& [run_id, rows] : stats.budgets)
    for (const auto& row : rows)
      if (row.cap) say("budget of {}: {}\n", run_id, budget_text(row));
  for (const auto& phase : stats.stuck)
    say("stuck: {} since {}; {}\n  {}\n", phase.phase_id, phase.last_attempt_timestamp,
        phase.holder_is_dead ? "its holder is gone" : "its lease has run out", resume_command(phase));
}

Status stats(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  std::vector<store::RunRow> runs;
  if (text.empty()) {
    PAWL_TRY(runs, state.store->runs(kRunsMeasuredMax));
  } else {
    PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
    PAWL_TRY(auto run, state.store->run(run_id));
    runs.push_back(std::move(run));
  }
  PAWL_TRY(const auto out, views::stats_of(state, runs));
  if (options.json)
    print_json(with_commands(out));
  else
    print(out);
  return {};
}

}  // namespace

void add_stats(const Command& program) {
  const Command command =
      program.add("stats", "Print counts of a run, or of all: attempts, causes, resumes, stuck phases");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.option("RUN", *run, std::string(kRunHelp) + " (else all)");
  add_state_options(command, *options);
  command.footer("Reads only.\n\nExample:\n  pawl stats last --json");
  command.on_run([=] {
    const auto status = stats(*options, *run);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
