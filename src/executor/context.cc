#include "executor/context.h"

#include <algorithm>

#include "base/json.h"
#include "sandbox/spec.h"

namespace pawl::executor {
namespace {

constexpr std::uint64_t kEvidenceLogBytesMax = 1 << 20;  // of each log, its end: what an agent can still read

}  // namespace

std::vector<std::string> paths_inside(const Evidence& evidence) {
  std::vector<std::string> out;
  if (!evidence.agent_layer.empty()) out.emplace_back("/pawl/evidence/previous.patch");
  for (const auto& log : evidence.logs) out.push_back("/pawl/evidence/" + log.label + ".log");
  return out;
}

Status add_evidence(const World& world, const std::string& base_id, const Evidence& evidence, Context& to) {
  if (!evidence.agent_layer.empty()) {
    std::vector<std::string> after = evidence.below;
    after.insert(after.begin(), evidence.agent_layer);
    PAWL_TRY(auto patch, world.objects.diff(base_id, evidence.below, after));
    to.push_back({.path = "evidence/previous.patch", .bytes = std::move(patch.text)});
  }
  for (const auto& log : evidence.logs) {
    auto tail = world.objects.blob_tail(log.blob, kEvidenceLogBytesMax);
    if (!tail && tail.error().kind == ErrorKind::kNotFound) continue;  // gc took it
    PAWL_TRY(auto text, std::move(tail));
    to.push_back({.path = "evidence/" + log.label + ".log", .bytes = std::move(text)});
  }
  return {};
}

bool of_kept_episode(const store::StepRow& step, std::span<const store::EpisodeRow> episodes) {
  if (step.episode == 0) return true;
  return std::ranges::any_of(episodes, [&](const store::EpisodeRow& row) {
    return row.attempt_id == step.attempt_id && row.episode == step.episode && !row.kept_by.empty();
  });
}

Result<Context> agent_context(const World& world, const store::Claim& claim) {
  Context context;
  if (!claim.previous || claim.previous->feedback.empty()) return context;
  Evidence evidence{.agent_layer = claim.previous->agent_layer};
  if (!evidence.agent_layer.empty()) {
    PAWL_TRY(const auto layers, world.store.base_layers(*claim.previous));
    PAWL_TRY(evidence.below, world.objects.stack(claim.run.base_id, layers));
  }
  PAWL_TRY(const auto steps, world.store.steps(claim.run.run_id, claim.phase.phase_id));
  std::vector<store::EpisodeRow> episodes;
  if (std::ranges::any_of(steps, [](const auto& step) { return step.episode > 0; })) {
    PAWL_TRY(episodes, world.store.episodes(claim.run.run_id, claim.phase.phase_id));
  }
  for (const auto& step : steps) {
    if (!of_kept_episode(step, episodes)) continue;  // the others' work is not what its feedback is about
    if (step.attempt_id != claim.previous->attempt_id || step.state != store::StepState::kDone) continue;
    PAWL_TRY(const Json json, parse_json(step.run));
    PAWL_TRY(const auto run, sandbox::run_from_json(json));
    if (!run.logs.empty()) evidence.logs.push_back({.label = step.label, .blob = run.logs});
  }
  context.push_back({.path = "feedback.json", .bytes = claim.previous->feedback + "\n"});
  PAWL_OK(add_evidence(world, claim.run.base_id, evidence, context));
  return context;
}

}  // namespace pawl::executor
