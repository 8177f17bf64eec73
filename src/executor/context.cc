#include "executor/context.h"

#include "base/json.h"
#include "os/file.h"
#include "os/process.h"
#include "sandbox/spec.h"

namespace pawl::executor {
namespace {

constexpr std::uint64_t kEvidenceLogBytesMax = 1 << 20;  // of each log, its end: what an agent can still read

Status write_patch(workspace::Workspaces& workspaces, const store::Claim& claim, const std::string& folder) {
  const auto& previous = *claim.previous;
  if (previous.agent_layer.empty()) return {};
  std::vector<std::string> before = previous.base_layers;
  std::vector<std::string> after = before;
  after.insert(after.begin(), previous.agent_layer);
  PAWL_TRY(const std::string patch, workspaces.diff(claim.run.base_id, before, after));
  return os::write_atomically(os::join(folder, "previous.patch"), patch);
}

}  // namespace

std::string log_inside(const std::string& label) { return "/pawl/evidence/" + label + ".log"; }

Result<bool> write_context(const World& world, const store::Claim& claim, const std::string& folder) {
  if (!claim.previous || claim.previous->feedback.empty()) return false;
  const std::string evidence = os::join(folder, "evidence");
  PAWL_OK(os::make_folders(evidence));
  PAWL_OK(os::write_atomically(os::join(folder, "feedback.json"), claim.previous->feedback + "\n"));
  PAWL_OK(write_patch(world.workspaces, claim, evidence));
  PAWL_TRY(const auto steps, world.store.steps(claim.run.run_id, claim.phase.phase_id));
  for (const auto& step : steps) {
    if (step.attempt_id != claim.previous->attempt_id || step.state != store::StepState::kDone) continue;
    PAWL_TRY(const Json json, parse_json(step.run));
    PAWL_TRY(const auto run, sandbox::run_from_json(json));
    if (run.logs.empty()) continue;
    auto tail = os::read_tail(world.workspaces.blob_path(run.logs), kEvidenceLogBytesMax);
    if (!tail && tail.error().kind == ErrorKind::kNotFound) continue;  // gc took it
    PAWL_TRY(const std::string text, std::move(tail));
    PAWL_OK(os::write_atomically(os::join(evidence, step.label + ".log"), text));
  }
  return true;
}

}  // namespace pawl::executor
