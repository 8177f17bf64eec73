#include "supervisor/collect.h"

#include <algorithm>
#include <string>

namespace pawl::supervisor {
namespace {

void add_refusals(const workspace::Collected& of, sandbox::SandboxRun& run) {
  run.refused.insert(run.refused.end(), of.refused.begin(), of.refused.end());
  run.refused.resize(std::min(run.refused.size(), workspace::kRefusedNamedMax));
  run.refused_total += of.refused_total;
  run.withheld.insert(run.withheld.end(), of.withheld.begin(), of.withheld.end());
}

}  // namespace

workspace::Caps caps_of(const Job& job, const secrets::Redactor::Values& credentials) {
  workspace::Caps out{.bytes = job.spec.disk_limit_mib << 20,
                      .own_times = !job.agent,
                      .had_git = !job.spec.workspace.git_layers.empty()};
  for (const auto& [name, value] : credentials) out.withheld.push_back(value);
  return out;
}

Result<workspace::Collected> collect_layer(const std::string& upper, const sandbox::WorkspaceSpec& of,
                                           bool copied, workspace::Workspaces& workspaces,
                                           const workspace::Caps& caps) {
  if (of.own_layer.empty()) return workspaces.collect(upper, lower_folders(of, workspaces), copied, caps);
  // The own layer has changes of an earlier execution. When no change is left, this execution undid them, so it
  // wrote at least one file.
  const auto with_taken_back = [](workspace::Collected out) {
    if (out.layer_id.empty()) ++out.rewritten;
    return out;
  };
  auto others = of;
  others.layers.erase(others.layers.begin());
  if (copied) {
    PAWL_TRY(auto out, workspaces.collect(upper, lower_folders(others, workspaces), true, caps));
    return with_taken_back(std::move(out));
  }
  PAWL_TRY(auto out, workspaces.collect(upper, lower_folders(of, workspaces), false, caps));
  if (out.layer_id.empty()) {
    out.layer_id = of.own_layer;
    return out;
  }
  PAWL_TRY(out.layer_id,
           workspaces.merge_executions(of.base_id, others.layers, {out.layer_id, of.own_layer}));
  return with_taken_back(std::move(out));
}

Status collect_changes(const Job& job, const sandbox::Folders& folders, sandbox::Execution& execution,
                       workspace::Workspaces& workspaces, const secrets::Redactor::Values& credentials) {
  auto& run = execution.run;
  if (run.outcome == sandbox::Outcome::kSetupFailed) return {};
  std::string made = folders.upper;
  const bool copied = sandbox::is_whole_tree(execution.changes);
  const auto lower = lower_folders(job.spec.workspace, workspaces);
  if (!job.spec.held.empty() && !copied) {
    PAWL_TRY(run.changed, workspace::changed_files(made, lower, job.spec.held));
  }
  const auto caps = caps_of(job, credentials);
  if (copied) {
    // The upper is the whole tree: only the differences are the step's own.
    PAWL_TRY(const auto layer, collect_layer(made, job.spec.workspace, true, workspaces, caps));
    add_refusals(layer, run);
    run.rewritten = layer.rewritten;
    if (job.spec.keep_layer) run.layer = layer.layer_id;
    if (layer.layer_id.empty()) return {};
    made = workspaces.layer_tree(layer.layer_id);
    if (!job.spec.held.empty()) {
      PAWL_TRY(run.changed, workspace::changed_files(made, lower, job.spec.held));
    }
  }
  if (!job.spec.copy_out.empty()) {
    PAWL_TRY(const auto matching, workspaces.collect_matching(made, job.spec.copy_out, caps));
    run.copy_out = matching.layer_id;
    if (!job.spec.keep_layer) add_refusals(matching, run);
  }
  if (copied || !job.spec.keep_layer) return {};
  PAWL_TRY(const auto layer, collect_layer(made, job.spec.workspace, false, workspaces, caps));
  run.layer = layer.layer_id;
  run.rewritten = layer.rewritten;
  add_refusals(layer, run);
  return {};
}

}  // namespace pawl::supervisor
