#include "executor/told.h"

#include "agent/server.h"
#include "base/money.h"
#include "store/cost_row.h"

namespace pawl::executor {
namespace {

Json redacted(const secrets::Redactor& redactor, const Json& details) {
  Json out = Json::object();
  for (const auto& [key, value] : details.items())
    out[key] = value.is_string() ? Json(redactor.redact(value.get<std::string>())) : value;
  return out;
}

store::Told::Usage usage_of(const World& world, const store::Claim& claim, const std::string& sandbox_run_id,
                            const agent::UsageRow& row) {
  const auto& usage = row.usage;
  const auto nanos = usage.usd_micros ? std::optional(*usage.usd_micros * kNanosOfMicro) : std::nullopt;
  return {.told_seq = row.seq,
          .input_tokens = usage.input_tokens,
          .output_tokens = usage.output_tokens,
          .cached_tokens = usage.cached_tokens,
          .usd_nanos = nanos.value_or(0),
          .line = store::usage_line({.workflow_id = claim.run.workflow_id,
                                     .run_id = claim.run.run_id,
                                     .phase_id = claim.phase.phase_id,
                                     .attempt_id = claim.attempt.attempt_id,
                                     .sandbox_run_id = sandbox_run_id,
                                     .usage_id = world.redactor.redact(usage.id),
                                     .model = world.redactor.redact(usage.model),
                                     .source = usage.source,
                                     .input_tokens = usage.input_tokens,
                                     .output_tokens = usage.output_tokens,
                                     .cached_tokens = usage.cached_tokens,
                                     .usd_nanos = nanos,
                                     .emitted_at = row.at})};
}

}  // namespace

agent::EpisodeKey episode_of(const store::Claim& claim) {
  return {
      .run_id = claim.run.run_id, .goal_id = claim.phase.phase_id, .episode_id = claim.attempt.attempt_id};
}

Result<store::Told> told_since(const World& world, const store::Claim& claim,
                               const std::string& sandbox_run_id, std::int64_t seq) {
  PAWL_TRY(const auto told, world.episodes.told_since(episode_of(claim), seq));
  store::Told out;
  if (told.last_seq > seq) out.last_seq = told.last_seq;
  for (const auto& event : told.events)
    out.events.push_back(
        {.event = event.event, .at = event.at, .details = redacted(world.redactor, event.details)});
  for (const auto& row : told.usage) out.usage.push_back(usage_of(world, claim, sandbox_run_id, row));
  return out;
}

store::Told::Event unsaved_event(const sandbox::SandboxRun& run, const plan::Phase& phase) {
  const bool required = phase.durable == plan::Durable::kRequired;
  return {.event = "not_saved",
          .at = run.ended_at,
          .details = {{"durable", required ? "required" : "best_effort"},
                      {"requests", run.unsaved},
                      {"reason", run.reason}}};
}

std::string agent_of(const store::Claim& claim, const plan::Phase& phase, const store::Begun& begun,
                     const agent::Spent& spent) {
  // The server counts what the episode spent in all, the executions of the step before included.
  const auto cap = [](const std::optional<std::int64_t>& granted, std::int64_t unit, std::int64_t before) {
    return granted ? std::optional(*granted / unit + before) : std::nullopt;
  };
  return canonical(
      to_json(agent::Context{.key = episode_of(claim),
                             .phase_id = claim.phase.phase_id,
                             .goal = claim.revised_goal.empty() ? phase.goal : claim.revised_goal,
                             .model = claim.attempt.model,
                             .attempt = claim.attempt.number,
                             .plan = claim.run.plan_content,
                             .usd_micros_cap = cap(begun.usd_nanos, kNanosOfMicro, spent.usd_micros),
                             .tokens_cap = cap(begun.tokens, 1, spent.tokens),
                             .children_max = phase.max_children,
                             .best_effort = phase.durable == plan::Durable::kBestEffort,
                             .usage = phase.agent_usage}));
}

}  // namespace pawl::executor
