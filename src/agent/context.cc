// The JSON form of an episode's context, in which the executor passes it to the supervisor.
#include "agent/server.h"

namespace pawl::agent {
namespace {

Json cap(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Json to_json(const Context& context) {
  return {{"run_id", context.key.run_id},
          {"goal_id", context.key.goal_id},
          {"episode_id", context.key.episode_id},
          {"phase_id", context.phase_id},
          {"goal", context.goal},
          {"model", context.model},
          {"attempt", context.attempt},
          {"plan", context.plan},
          {"usd_micros_cap", cap(context.usd_micros_cap)},
          {"tokens_cap", cap(context.tokens_cap)},
          {"children_max", context.children_max},
          {"best_effort", context.best_effort},
          {"usage", context.usage}};
}

Result<Context> context_from_json(const Json& json) {
  Context out;
  out.key = {.run_id = text_in(json, "run_id"),
             .goal_id = text_in(json, "goal_id"),
             .episode_id = text_in(json, "episode_id")};
  out.phase_id = text_in(json, "phase_id");
  out.goal = text_in(json, "goal");
  out.model = text_in(json, "model");
  out.attempt = integer_in(json, "attempt");
  out.plan = text_in(json, "plan");
  out.children_max = integer_in(json, "children_max");
  out.usage = text_in(json, "usage");
  const auto best_effort = json.find("best_effort");
  out.best_effort = best_effort != json.end() && best_effort->is_boolean() && best_effort->get<bool>();
  const auto cap = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>())
                                                             : std::nullopt;
  };
  out.usd_micros_cap = cap("usd_micros_cap");
  out.tokens_cap = cap("tokens_cap");
  if (out.key.episode_id.empty() || out.attempt < 1)
    return fail(ErrorKind::kCorrupt, "this is no context of an agent");
  return out;
}

}  // namespace pawl::agent
