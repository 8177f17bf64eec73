// Says what a run waits for, and which command would move it.
#include <fmt/format.h>

#include <algorithm>

#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "os/clock.h"
#include "os/process.h"
#include "plan/parse.h"
#include "views/reason.h"

namespace pawl::cli {
namespace {

using views::Reason;

constexpr std::int64_t kMaxAttemptsMost = 100;  // the most that --max-attempts takes

struct Advice {
  std::string sentence, command;
};

// The step of an open marker runs, is over, or does not run because it has not begun or is lost.
std::string step_text(const views::OpenStep& step, const std::string& now) {
  const std::string since = duration_text(elapsed_ms(step.started_at, now));
  switch (step.found) {
    case supervisor::Found::kRunning:
      return fmt::format("step {} runs for {}", step.label, since);
    case supervisor::Found::kSpooled:
      return fmt::format("step {} is over, and its result is not recorded yet", step.label);
    case supervisor::Found::kNothing:
      break;
  }
  return fmt::format("step {} is to run since {}, and does not run", step.label, since);
}

Advice of_failed(const store::RunRow& run, const Reason& reason) {
  return {.sentence =
              fmt::format("the run is {}: phase {} is {} ({}), and only a person moves it{}", name(run.state),
                          reason.phase_id, name(reason.phase->outcome), reason.phase->last_failure_reason,
                          reason.has_work ? "; `pawl approve` takes its work as it is" : ""),
          .command = retry_command(run, *reason.phase)};
}

Advice of_lease(const store::RunRow& run, const Reason& reason, const std::string& now) {
  const auto& phase = *reason.phase;
  const auto owner = os::parse_identity(phase.lease_owner);
  const std::string who =
      owner ? fmt::format("process {} on {}", owner->pid, owner->host) : phase.lease_owner;
  return {.sentence = fmt::format("phase {} is being worked on by {}: {} (its lease, renewed while it lives, "
                                  "is good until {:.19}Z)",
                                  phase.phase_id, who,
                                  reason.step ? step_text(*reason.step, now) : "between two steps",
                                  phase.lease_expires_at),
          .command = fmt::format("pawl logs -f {} {}", run.run_id, phase.phase_id)};
}

// Such a phase gets one attempt more than it has used, or fails when it has used all.
std::string command_of_stalled(const std::string& resume, const store::PhaseRow& phase) {
  return fmt::format("{} --max-attempts {} --operator-ack", resume,
                     std::min(phase.attempts_used + 1, kMaxAttemptsMost));
}

// The person has to put the value in the place of the dots.
Advice of_credential(const executor::UnseenCredential& unseen, const std::string& resume) {
  const bool is_variable = plan::is_variable_name(unseen.variable);
  return {.sentence = "the run can go on as soon as a credential is here: " + unseen.message,
          .command = (is_variable ? "export " + unseen.variable + "=... && " : "") + resume};
}

Advice advice_of(const store::RunRow& run, const Reason& reason, const std::string& now) {
  const std::string resume = "pawl resume " + run.run_id;
  switch (reason.kind) {
    case Reason::Kind::kOver:
      return {.sentence = fmt::format("the run is {}: it waits for nothing", name(run.state)),
              .command = "pawl inspect " + run.run_id};
    case Reason::Kind::kFailed:
      return of_failed(run, reason);
    case Reason::Kind::kNoSandbox:
      return {.sentence = fmt::format("phase {} can go on as soon as a sandbox can be made: {}",
                                      reason.phase_id, reason.detail),
              .command = "pawl sandbox health"};
    case Reason::Kind::kNoCredential:
      return of_credential(*reason.credential, resume);
    case Reason::Kind::kFree:
      return {.sentence = fmt::format("phase {} can go on, and no executor works on it", reason.phase_id),
              .command = resume};
    case Reason::Kind::kLeased:
      return of_lease(run, reason, now);
    case Reason::Kind::kAsked:
      return {.sentence =
                  fmt::format("phase {} is being worked on, and its agent asks a person", reason.phase_id),
              .command = answer_command(run.run_id)};
    case Reason::Kind::kBudgetSpent:
      return {.sentence = reason.detail,
              .command = fmt::format("pawl budget {} {}", run.run_id,
                                     cap_option(reason.spent.value_or(store::BudgetRow())))};
    case Reason::Kind::kReserved:
      return {.sentence = reason.detail, .command = "pawl status " + run.run_id};
    case Reason::Kind::kNotBefore:
      if (!reason.wait) return {.sentence = reason.detail, .command = resume};
      return {.sentence = wait_text(reason.phase_id, *reason.wait), .command = resume + " --now"};
    case Reason::Kind::kRefused:
      return {.sentence = reason.wait ? wait_text(reason.phase_id, *reason.wait) : reason.detail,
              .command = reason.wait ? wait_command(run.run_id, *reason.wait) : resume + " --now"};
    case Reason::Kind::kStalled:
      return {.sentence = reason.detail, .command = command_of_stalled(resume, *reason.phase)};
  }
  return {};
}

void add_lock(const views::HeldLock& lock, Advice& to) {
  const std::string what = lock.what == views::HeldLock::What::kObjects
                               ? "the lock of the objects (" + lock.path + ")"
                               : "the database's write lock";
  to.sentence +=
      fmt::format("; {} has {}, and what needs it waits until it lets go", os::to_text(lock.holder), what);
  to.command = lock.holder.pid > 0 ? fmt::format("ps -o pid,etime,args -p {}", lock.holder.pid) : "lslocks";
}

constexpr std::size_t kShown = 5;  // phases or agents in a sentence

void add_agents(const std::vector<views::AgentRemark>& agents, Advice& to) {
  for (std::size_t i = 0; i < std::min(agents.size(), kShown); ++i)
    to.sentence += fmt::format("; the agent of {}: {}", agents[i].phase_id, agents[i].reason);
  if (agents.size() > kShown) to.sentence += fmt::format("; and {} more", agents.size() - kShown);
}

Json to_json(const std::vector<views::AgentRemark>& agents) {
  Json out = Json::array();
  for (const auto& agent : agents) out.push_back({{"phase_id", agent.phase_id}, {"reason", agent.reason}});
  return out;
}

// A phase that passed has a reason only when a gate of it is flaky.
Status add_flaky(store::Reader& store, const std::string& run_id, Advice& to) {
  PAWL_TRY(const auto phases, store.phases(run_id));
  std::size_t found = 0;
  for (const auto& phase : phases)
    if (phase.outcome == store::PhaseOutcome::kPassed && !phase.last_failure_reason.empty() &&
        ++found <= kShown)
      to.sentence += fmt::format("; {} passed, {}", phase.phase_id, phase.last_failure_reason);
  if (found > kShown) to.sentence += fmt::format("; and {} more", found - kShown);
  return {};
}

Status why(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto found, views::reason_of(state, run_id));
  const auto& [run, reason, questions, agents] = found;
  Advice advice = advice_of(run, reason, rfc3339(os::SystemClock().wall()));
  if (reason.kind == Reason::Kind::kOver) PAWL_OK(add_flaky(*state.store, run_id, advice));
  add_agents(agents, advice);
  if (reason.lock) add_lock(*reason.lock, advice);
  if (reason.later_phases > 0)
    advice.sentence += fmt::format("; {} of later tiers wait for its tier", reason.later_phases);
  if (options.json) {
    print_json({{"run_id", run_id},
                {"state", name(run.state)},
                {"waits_for", name(waits_for(reason))},
                {"phase_id", reason.phase_id},
                {"sentence", advice.sentence},
                {"command", advice.command},
                {"questions", to_json(questions)},
                {"agents", to_json(agents)}});
    return {};
  }
  say("{}\n  {}\n", visible(advice.sentence), advice.command);
  for (const auto& question : questions) say("{}\n  {}\n", question_line(question), answer_command(run_id));
  return {};
}

}  // namespace

void add_why(const Command& program) {
  const Command command = program.add("why", "Say what a run waits for, and which command helps");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.required("RUN", *run, kRunHelp);
  add_state_options(command, *options);
  command.footer(
      "Reads only. With --json, waits_for is one of nothing, person, executor, backend, lease, lock, "
      "not_before, budget.\n`agents` names phases whose agent ended with a remark: it went over its budget, "
      "for "
      "example.\n\n"
      "Example:\n  pawl why last");
  command.on_run([=] {
    const auto status = why(*options, *run);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
