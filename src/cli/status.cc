#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/accepted.h"
#include "cli/context.h"
#include "cli/questions.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/visible.h"
#include "os/clock.h"
#include "os/process.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsShown = 50, kRunsListedMax = 100'000;
constexpr std::int64_t kWatchEveryMs = 1000;

Json phase_json(const store::PhaseRow& phase) {
  return {{"phase_id", phase.phase_id},
          {"tier_index", phase.tier_index},
          {"phase_index", phase.phase_index},
          {"state", name(phase.state)},
          {"outcome", name(phase.outcome)},
          {"attempts_used", phase.attempts_used},
          {"max_attempts", phase.max_attempts},
          {"attempts_total", phase.attempts_total},
          {"last_attempt_timestamp", phase.last_attempt_timestamp},
          {"last_failure_reason", phase.last_failure_reason},
          {"lease_owner", phase.lease_owner},
          {"lease_expires_at", phase.lease_expires_at},
          {"revision", phase.revision}};
}

Json run_json(const store::RunRow& run) {
  return {{"run_id", run.run_id},         {"workflow", run.workflow_id}, {"state", name(run.state)},
          {"created_at", run.created_at}, {"ended_at", run.ended_at},    {"plan", run.plan_file}};
}

struct Shown {
  std::string text;  // for people; one JSON object on a line with --json
  bool over = false;
};

// Marks a run of the list that goes on only when a person does something.
std::string waits_in_list(store::Store& store, const store::RunRow& run) {
  if (run.state == store::RunState::kFailed) return "  (waits for a person)";
  return spent_budget(store, run) ? "  (its budget is spent)" : "";
}

struct Waits {
  std::string word = "nothing";  // nothing | budget | person
  std::string text;              // lines for people
};

Waits waits_of(store::Store& store, const store::RunRow& run, const std::vector<store::PhaseRow>& phases) {
  if (const auto spent = spent_budget(store, run))
    return {.word = "budget",
            .text = fmt::format("the run waits for its budget: {}\n  pawl budget {} {}\n",
                                budget_text(*spent), run.run_id, cap_option(*spent))};
  Waits out;
  for (const auto& phase : phases) {
    if (phase.state != store::PhaseState::kFailed) continue;
    out.word = "person";
    const bool has_work = work_to_approve(store, run.run_id, phase.phase_id).has_value();
    out.text +=
        fmt::format("phase {0} waits for a person\n  {2}pawl retry {1} {0}\n", phase.phase_id, run.run_id,
                    has_work ? fmt::format("pawl approve {} {}   or: ", run.run_id, phase.phase_id) : "");
    break;  // one phase is enough to go on with
  }
  return out;
}

Result<Shown> list_runs(store::Store& store, bool json) {
  PAWL_TRY(auto runs, store.runs(json ? kRunsListedMax : kRunsShown + 1));
  Shown out;
  if (json) {
    Json list = Json::array();
    for (const auto& run : runs) list.push_back(run_json(run));
    out.text = canonical({{"runs", std::move(list)}}) + "\n";
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

Json fork_json(const store::ForkPoint& from) {
  return {{"run_id", from.run_id}, {"phase_id", from.phase_id}, {"attempt", from.attempt}};
}

Result<Shown> show_run(const State& state, const std::string& text, bool json) {
  store::Store& store = *state.store;
  PAWL_TRY(const std::string run_id, store.resolve_run(text));
  PAWL_TRY(const auto run, store.run(run_id));
  PAWL_TRY(const auto tiers, store.tiers(run_id));
  PAWL_TRY(const auto phases, store.phases(run_id));
  PAWL_TRY(const auto budgets, store.budgets(run_id));
  PAWL_TRY(const auto from, store.fork_of(run_id));
  PAWL_TRY(const auto questions, open_questions(state, run_id));
  const auto waits = waits_of(store, run, phases);
  Shown out{.text = "", .over = run.state != store::RunState::kExecuting};
  if (json) {
    Json object = run_json(run);
    object["budget"] = budget_json(budgets);
    object["forked_from"] = from ? fork_json(*from) : Json();
    object["phases"] = Json::array();
    for (const auto& phase : phases) object["phases"].push_back(phase_json(phase));
    object["questions"] = questions_json(questions);
    object["waits_for"] = waits.word == "nothing" && !questions.empty() ? "person" : waits.word;
    out.text = canonical(object) + "\n";
    return out;
  }
  out.text = fmt::format("run {} is {}  ({})\n", run.run_id, name(run.state), visible(run.workflow_id));
  if (from)
    out.text +=
        fmt::format("forked from {} at attempt {} of {}\n", from->run_id, from->attempt, from->phase_id);
  for (const auto& row : budgets)
    if (row.cap) out.text += "budget: " + budget_text(row) + "\n";
  std::size_t width = 5;
  for (const auto& phase : phases) width = std::max(width, phase.phase_id.size());
  for (const auto& tier : tiers) {
    out.text += visible(tier.name) + (tier.parallel ? " (parallel)\n" : "\n");
    for (const auto& phase : phases)
      if (phase.tier_index == tier.tier_index) out.text += phase_line(phase, width);
  }
  out.text += waits.text;
  for (const auto& question : questions)
    out.text += fmt::format("{}\n  {}\n", question_line(question), answer_command(run_id));
  return out;
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
