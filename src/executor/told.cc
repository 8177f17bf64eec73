#include "executor/told.h"

#include <algorithm>

#include "agent/server.h"
#include "base/money.h"
#include "base/planted.h"
#include "store/cost_row.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kAnswerTold = 1024;  // bytes of a person's answer, in the ledger

Json redacted(const secrets::Redactor& redactor, Json details) {
  redactor.redact_strings(details);
  if (const auto answer = details.find("answer"); answer != details.end() && answer->is_string())
    *answer = std::string(utf8_prefix(answer->get_ref<const std::string&>(), kAnswerTold));
  return details;
}

store::Told::Usage usage_of(const World& world, const Teller& teller, const agent::UsageRow& row) {
  const auto& usage = row.usage;
  const auto nanos = usage.usd_micros ? std::optional(*usage.usd_micros * kNanosOfMicro) : std::nullopt;
  return {.told_seq = row.seq,
          .input_tokens = usage.input_tokens,
          .output_tokens = usage.output_tokens,
          .cached_tokens = usage.cached_tokens,
          .usd_nanos = nanos.value_or(0),
          .line = store::usage_line({.workflow_id = teller.workflow_id,
                                     .run_id = teller.key.run_id,
                                     .phase_id = teller.key.goal_id,
                                     .attempt_id = teller.attempt_id,
                                     .sandbox_run_id = teller.sandbox_run_id,
                                     .usage_id = world.redactor.redact(usage.id),
                                     .model = world.redactor.redact(usage.model),
                                     .source = usage.source,
                                     .input_tokens = usage.input_tokens,
                                     .output_tokens = usage.output_tokens,
                                     .cached_tokens = usage.cached_tokens,
                                     .usd_nanos = nanos,
                                     .emitted_at = row.at})};
}

Status pay(const World& world, const store::Owed& owed) {
  const store::StepRow& step = owed.step;
  PAWL_OK(world.sandboxes.abandon(step.sandbox_run_id));
  PAWL_TRY(const auto run, world.store.run(step.run_id));
  const Teller teller{.key = {.run_id = step.run_id,
                              .goal_id = step.phase_id,
                              .episode_id = episode_id(step.attempt_id, step.episode)},
                      .workflow_id = run.workflow_id,
                      .attempt_id = step.attempt_id,
                      .sandbox_run_id = step.sandbox_run_id};
  store::Told told;
  if (step.gate_id == store::kAgentGate) {
    PAWL_TRY(told, told_since(world, teller, owed.told_seq));
  }
  PAWL_OK(world.store.pay(owed, told, world.clock.wall()));
  world.sandboxes.forget_lost(step.sandbox_run_id);
  world.sandboxes.forget_homes(step.run_id, step.attempt_id);  // the operator ended the attempt
  return {};
}

}  // namespace

namespace {

bool has_id_of_its_own(std::int64_t episode) {
  if (planted("episodes_share_checkpoints")) return false;
  return episode != 0;
}

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

Teller teller_of(const store::Claim& claim, const store::StepStart& step) {
  return {.key = episode_of(claim, step.episode),
          .workflow_id = claim.run.workflow_id,
          .attempt_id = claim.attempt.attempt_id,
          .sandbox_run_id = step.sandbox_run_id};
}

Result<store::Told> told_since(const World& world, const Teller& teller, std::int64_t seq) {
  PAWL_TRY(const auto told, world.journals.told_since(teller.key, seq));
  store::Told out;
  if (told.last_seq > seq) out.last_seq = told.last_seq;
  for (const auto& event : told.events)
    out.events.push_back(
        {.event = event.event, .at = event.at, .details = redacted(world.redactor, event.details)});
  for (const auto& row : told.usage) out.usage.push_back(usage_of(world, teller, row));
  return out;
}

Status pay_what_is_owed(const World& world) {
  PAWL_TRY(const auto all, world.store.owed(""));
  Status first;
  for (const auto& owed : all)
    if (auto paid = pay(world, owed); !paid && first) first = std::move(paid);
  return first;
}

void pay_or_tell(const World& world, Observer& observer) {
  if (const auto paid = pay_what_is_owed(world); !paid) observer.stays_owed(paid.error());
}

store::Told::Event unsaved_event(const sandbox::SandboxRun& run, const plan::Phase& phase) {
  const bool required = phase.durable == plan::Durable::kRequired;
  return {.event = "not_saved",
          .at = run.ended_at,
          .details = {{"durable", required ? "required" : "best_effort"},
                      {"requests", run.unsaved},
                      {"reason", run.reason}}};
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
  PAWL_TRY(const auto told, told_since(world, teller_of(claim, step), seq));
  PAWL_TRY(const auto budgets, world.store.budgets(claim.run.run_id));
  std::int64_t tokens = 0, usd_nanos = 0;
  for (const auto& usage : told.usage) {
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
