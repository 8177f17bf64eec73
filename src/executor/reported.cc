#include "executor/reported.h"

#include <algorithm>

#include "agent/server.h"
#include "agent/usage_reader.h"
#include "base/money.h"
#include "base/mutant.h"
#include "executor/recovery.h"
#include "os/process.h"
#include "plan/rows.h"
#include "plan/words.h"
#include "store/cost_row.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool shares_checkpoints() { return mutant("episodes_share_checkpoints"); }
bool tells_no_unknown_use() { return mutant("unknown_use_not_told"); }

constexpr std::size_t kAnswerBytesKept = 1024;  // bytes of a person's answer, in the ledger

Json redacted(const secrets::Redactor& redactor, Json details) {
  redactor.redact_strings(details);
  if (const auto answer = details.find("answer"); answer != details.end() && answer->is_string())
    *answer = std::string(utf8_prefix(answer->get_ref<const std::string&>(), kAnswerBytesKept));
  return details;
}

store::Reported::Usage usage_of(const World& world, const Reporter& reporter, const agent::UsageRow& row) {
  const auto& usage = row.usage;
  if (agent::is_unknown(usage))
    return {.told_seq = row.seq,
            .is_unknown = true,
            .line = store::unknown_usage_line({.workflow_id = reporter.workflow_id,
                                               .run_id = reporter.key.run_id,
                                               .phase_id = reporter.key.goal_id,
                                               .attempt_id = reporter.attempt_id,
                                               .sandbox_run_id = reporter.sandbox_run_id,
                                               .source = usage.source,
                                               .emitted_at = row.at})};
  const auto nanos = usage.usd_micros ? std::optional(*usage.usd_micros * kNanosOfMicro) : std::nullopt;
  return {.told_seq = row.seq,
          .input_tokens = usage.input_tokens,
          .output_tokens = usage.output_tokens,
          .cached_tokens = usage.cached_tokens,
          .usd_nanos = nanos.value_or(0),
          .line = store::usage_line({.workflow_id = reporter.workflow_id,
                                     .run_id = reporter.key.run_id,
                                     .phase_id = reporter.key.goal_id,
                                     .attempt_id = reporter.attempt_id,
                                     .sandbox_run_id = reporter.sandbox_run_id,
                                     .usage_id = world.redactor.redact(usage.id),
                                     .model = world.redactor.redact(usage.model),
                                     .source = usage.source,
                                     .input_tokens = usage.input_tokens,
                                     .output_tokens = usage.output_tokens,
                                     .cached_tokens = usage.cached_tokens,
                                     .usd_nanos = nanos,
                                     .emitted_at = row.at})};
}

// The phase's plan and the attempt say how the program's output is read: the spool has no word that a row vouches for.
Status report_printed(const World& world, const store::StepRow& step, const agent::EpisodeKey& key) {
  PAWL_TRY(const auto row, world.store.planned_phase(step.run_id, step.phase_id));
  if (row.empty()) return {};  // the run of an older version, which read no output of such a step
  PAWL_TRY(const auto phase, plan::phase_of_row(row));
  if (phase.agent_usage.empty() || tells_no_unknown_use()) return {};
  PAWL_TRY(const auto attempts, world.store.attempts(step.run_id, step.phase_id));
  const auto attempt = std::ranges::find(attempts, step.attempt_id, &store::AttemptRow::attempt_id);
  if (attempt == attempts.end()) return fail(ErrorKind::kForged, "there is no attempt " + step.attempt_id);
  return world.sandboxes.report_usage(
      {.sandbox_run_id = step.sandbox_run_id,
       .key = key,
       .reader = phase.agent_usage,
       .model = attempt->model,
       .same_boot = of_one_boot(attempt->executor, os::to_text(os::this_process()))});
}

Status settle_usage(const World& world, const store::Unsettled& unsettled) {
  const store::StepRow& step = unsettled.step;
  PAWL_OK(world.sandboxes.abandon(step.sandbox_run_id));
  PAWL_TRY(const auto run, world.store.run(step.run_id));
  const Reporter reporter{.key = {.run_id = step.run_id,
                                  .goal_id = step.phase_id,
                                  .episode_id = episode_id(step.attempt_id, step.episode)},
                          .workflow_id = run.workflow_id,
                          .attempt_id = step.attempt_id,
                          .sandbox_run_id = step.sandbox_run_id};
  store::Reported reported;
  if (step.gate_id == store::kAgentGate) {
    PAWL_OK(report_printed(world, step, reporter.key));
    PAWL_TRY(reported, reported_since(world, reporter, unsettled.told_seq));
  }
  PAWL_OK(world.store.settle_usage(unsettled, reported, world.clock.wall()));
  world.sandboxes.forget_lost(step.sandbox_run_id);
  world.sandboxes.forget_homes(step.run_id, step.attempt_id);  // the operator ended the attempt
  return {};
}

}  // namespace

namespace {

bool has_id_of_its_own(std::int64_t episode) { return episode != 0 && !shares_checkpoints(); }

}  // namespace

std::string episode_id(const std::string& attempt_id, std::int64_t episode) {
  if (!has_id_of_its_own(episode)) return attempt_id;
  return attempt_id + ".e" + std::to_string(episode);
}

agent::EpisodeKey episode_of(const store::Claim& claim, std::int64_t episode) {
  return {.run_id = claim.run.run_id,
          .goal_id = claim.phase.phase_id,
          .episode_id = episode_id(claim.attempt.attempt_id, episode)};
}

Reporter reporter_of(const store::Claim& claim, const store::StepStart& step) {
  return {.key = episode_of(claim, step.episode),
          .workflow_id = claim.run.workflow_id,
          .attempt_id = claim.attempt.attempt_id,
          .sandbox_run_id = step.sandbox_run_id};
}

Result<store::Reported> reported_since(const World& world, const Reporter& reporter, std::int64_t seq) {
  PAWL_TRY(const auto reported, world.journals.reported_since(reporter.key, seq));
  store::Reported out;
  if (reported.last_seq > seq) out.last_seq = reported.last_seq;
  for (const auto& event : reported.events)
    out.events.push_back(
        {.event = event.event, .at = event.at, .details = redacted(world.redactor, event.details)});
  for (const auto& row : reported.usage) out.usage.push_back(usage_of(world, reporter, row));
  return out;
}

Status report_printed_usage(const World& world, const store::Claim& claim, const plan::Phase& phase,
                            const store::StepStart& step, bool same_boot) {
  if (step.gate_id != store::kAgentGate || phase.agent_usage.empty() || tells_no_unknown_use()) return {};
  return world.sandboxes.report_usage({.sandbox_run_id = step.sandbox_run_id,
                                       .key = episode_of(claim, step.episode),
                                       .reader = phase.agent_usage,
                                       .model = claim.attempt.model,
                                       .same_boot = same_boot});
}

Status settle_ended_steps(const World& world) {
  PAWL_TRY(const auto all, world.store.unsettled(""));
  Status first;
  for (const auto& unsettled : all)
    if (auto paid = settle_usage(world, unsettled); !paid && first) first = std::move(paid);
  return first;
}

void settle_or_report(const World& world, Observer& observer) {
  if (const auto paid = settle_ended_steps(world); !paid) observer.stays_unsettled(paid.error());
}

std::optional<store::Reported::Event> unsaved_event(const sandbox::SandboxRun& run,
                                                    const plan::Phase& phase) {
  if (run.unsaved == 0) return std::nullopt;
  return store::Reported::Event{
      .event = "not_saved",
      .at = run.ended_at,
      .details = {{"durable", plan::name(phase.durable)}, {"requests", run.unsaved}, {"reason", run.reason}}};
}

Status check_room(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run) {
  PAWL_TRY(const bool has_room, world.journals.can_save(run.room_needed));
  if (has_room) return {};
  constexpr std::int64_t kMib = 1 << 20;
  const std::string needed =
      run.room_needed > 0 ? "; it needs " + std::to_string((run.room_needed + kMib - 1) / kMib) + " MiB" : "";
  return fail(ErrorKind::kExhausted, "the agent of " + claim.attempt.attempt_id +
                                         " was stopped, and what it had kept stays: " + run.reason + needed +
                                         "; free some space, then go on with `pawl resume`");
}

Result<bool> budget_is_spent(const World& world, const store::Claim& claim, const sandbox::SandboxRun& run,
                             const store::StepStart& step, std::int64_t seq) {
  if (run.reason != supervisor::kUsageCapReason) return false;
  PAWL_TRY(const auto reported, reported_since(world, reporter_of(claim, step), seq));
  PAWL_TRY(const auto budgets, world.store.budgets(claim.run.run_id));
  std::int64_t tokens = 0, usd_nanos = 0;
  for (const auto& usage : reported.usage) {
    tokens = sum_at_most_max(tokens, sum_at_most_max(usage.input_tokens, usage.output_tokens));
    usd_nanos = sum_at_most_max(usd_nanos, usage.usd_nanos);
  }
  return std::ranges::any_of(budgets, [&](const store::BudgetRow& row) {
    const std::int64_t more = row.unit == store::kTokens ? tokens : usd_nanos;
    return row.unit != store::kSandboxMs && row.cap && sum_at_most_max(row.spent, more) >= *row.cap;
  });
}

agent::Context agent_of(const store::Claim& claim, const plan::Phase& phase, std::int64_t episode,
                        const store::Begun& begun, const agent::Spent& spent) {
  // The server counts everything that the episode has spent, including earlier executions of the step.
  const auto cap = [](const std::optional<std::int64_t>& granted, std::int64_t unit, std::int64_t before) {
    return granted ? std::optional(*granted / unit + before) : std::nullopt;
  };
  return {.key = episode_of(claim, episode),
          .phase_id = claim.phase.phase_id,
          .goal = claim.revised_goal.empty() ? phase.goal : claim.revised_goal,
          .model = claim.attempt.model,
          .attempt = claim.attempt.number,
          .plan = claim.run.plan_content,
          .usd_micros_cap = cap(begun.usd_nanos, kNanosOfMicro, spent.usd_micros),
          .tokens_cap = cap(begun.tokens, 1, spent.tokens),
          .children_max = phase.max_children,
          .best_effort = phase.durable == plan::Durable::kBestEffort,
          .usage = phase.agent_usage};
}

}  // namespace pawl::executor
