// Numbers of one run, or of all: attempts and how they ended, stuck phases, the cost of crashes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/context.h"
#include "cli/decisions.h"
#include "cli/say.h"
#include "cli/visible.h"
#include "executor/executor.h"
#include "os/clock.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsMeasuredMax = 10'000;  // the newest

struct Stats {
  std::int64_t runs = 0, phases = 0, attempts = 0, crash_loops = 0, doctor_calls = 0, replans = 0;
  std::int64_t steps = 0, lost_steps = 0, sandbox_ms = 0;
  std::map<std::int64_t, std::int64_t> attempts_used;                  // phases by their attempts_used
  std::map<std::pair<std::string, std::string>, std::int64_t> states;  // phases by state and cause
  std::map<std::string, std::int64_t> resumes;                         // by decision
  Json stuck = Json::array();
  std::vector<std::pair<std::string, std::vector<store::BudgetRow>>> budgets;  // by run_id, only with a cap
  Json refusals = Json::array();  // refused commits under lost leases
};

// A step was lost too often. The name and the output of a step are not its outcome.
Result<bool> ended_by_crash_loop(const store::AttemptRow& attempt) {
  if (attempt.signals.empty()) return false;
  PAWL_TRY(const Json signals, parse_json(attempt.signals));
  return std::ranges::any_of(signals, [](const Json& signal) {
    const auto details = signal.find("details");
    return details != signal.end() && text_in(*details, "outcome") == "crash_loop";
  });
}

// Returns the last executor of a phase that no process works on; "" when one does, or will. Such a phase is
// EXECUTING, and its holder is gone or let the lease run out. Or it is between two attempts, without a
// holder, and the executor of the last attempt is gone.
std::string left_by(const store::PhaseRow& phase, const std::vector<store::AttemptRow>& attempts,
                    const store::ClaimRequest& now) {
  if (phase.state != store::PhaseState::kExecuting || lease_is_live(phase, now)) return "";
  if (!phase.lease_owner.empty()) return phase.lease_owner;
  const bool waits = !phase.not_before.empty() && phase.not_before > rfc3339(now.now);
  if (waits || attempts.empty() || !now.owner_is_dead(attempts.back().executor)) return "";
  return attempts.back().executor;
}

// An attempt that an operator or another episode ended is not resumed.
bool is_resume(const Json& decision) {
  return text_in(decision, "type") == "resume" && text_in(decision, "found") != "operator" &&
         text_in(decision, "decision") != "cancelled";
}

Status add_phase(store::Store& store, const store::PhaseRow& phase, const store::ClaimRequest& now,
                 Stats& to) {
  ++to.phases;
  ++to.attempts_used[phase.attempts_used];
  ++to.states[{std::string(name(phase.state)), phase.last_failure_reason}];
  to.doctor_calls += phase.doctor_calls;
  to.replans += phase.replans;
  PAWL_TRY(const auto attempts, store.attempts(phase.run_id, phase.phase_id));
  if (const auto owner = left_by(phase, attempts, now); !owner.empty())
    to.stuck.push_back({{"run_id", phase.run_id},
                        {"phase_id", phase.phase_id},
                        {"last_attempt_timestamp", phase.last_attempt_timestamp},
                        {"lease_owner", owner},
                        {"holder_is_dead", now.owner_is_dead(owner)},
                        {"command", "pawl resume " + phase.run_id}});
  to.attempts += static_cast<std::int64_t>(attempts.size());
  for (const auto& attempt : attempts) {
    PAWL_TRY(const bool crash_loop, ended_by_crash_loop(attempt));
    if (crash_loop) ++to.crash_loops;
  }
  PAWL_TRY(const auto steps, store.steps(phase.run_id, phase.phase_id));
  for (const auto& step : steps) {
    ++to.steps;
    if (step.state == store::StepState::kLost) ++to.lost_steps;
  }
  PAWL_TRY(const Json decisions, decisions_of(store, phase.run_id, phase.phase_id));
  for (const auto& decision : decisions)
    if (is_resume(decision)) ++to.resumes[text_in(decision, "decision")];
  return {};
}

Json to_json(const Stats& stats) {
  Json used = Json::object(), states = Json::array(), resumes = Json::object(), budgets = Json::object();
  for (const auto& [attempts, phases] : stats.attempts_used) used[std::to_string(attempts)] = phases;
  for (const auto& [key, phases] : stats.states)
    states.push_back({{"state", key.first}, {"cause", key.second}, {"phases", phases}});
  for (const auto& [decision, times] : stats.resumes) resumes[decision] = times;
  for (const auto& [run_id, rows] : stats.budgets) budgets[run_id] = budget_json(rows);
  return {{"runs", stats.runs},
          {"phases", stats.phases},
          {"attempts", stats.attempts},
          {"attempts_used", std::move(used)},
          {"states", std::move(states)},
          {"resumes", std::move(resumes)},
          {"crash_loops", stats.crash_loops},
          {"doctor_calls", stats.doctor_calls},
          {"replans", stats.replans},
          {"steps", stats.steps},
          {"lost_steps", stats.lost_steps},
          {"sandbox_milliseconds", stats.sandbox_ms},
          {"stuck", stats.stuck},
          {"budgets", std::move(budgets)},
          {"refusals", stats.refusals}};
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
    say("stuck: {} since {}; {}\n  {}\n", text_in(phase, "phase_id"),
        text_in(phase, "last_attempt_timestamp"),
        flag_in(phase, "holder_is_dead") ? "its holder is gone" : "its lease has run out",
        text_in(phase, "command"));
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
  const auto now = executor::request_now(os::SystemClock());
  Stats out{.runs = static_cast<std::int64_t>(runs.size())};
  for (const auto& run : runs) {
    PAWL_TRY(const auto phases, state.store->phases(run.run_id));
    PAWL_TRY(const auto refusals, state.store->refusals(run.run_id));
    for (const auto& row : refusals)
      out.refusals.push_back({{"run_id", run.run_id},
                              {"phase_id", row.phase_id},
                              {"at", row.at},
                              {"verb", row.verb},
                              {"owner", row.owner},
                              {"fence", row.fence}});
    PAWL_TRY(auto budgets, state.store->budgets(run.run_id));
    for (const auto& row : budgets)
      if (row.unit == store::kSandboxMs) out.sandbox_ms += row.spent;
    if (std::ranges::any_of(budgets, [](const auto& row) { return row.cap.has_value(); }))
      out.budgets.emplace_back(run.run_id, std::move(budgets));
    for (const auto& phase : phases) PAWL_OK(add_phase(*state.store, phase, now, out));
  }
  if (options.json)
    print_json(to_json(out));
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
