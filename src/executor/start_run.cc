#include "executor/start_run.h"

#include <set>
#include <tuple>

#include "executor/fork_plan.h"
#include "executor/plan_folder.h"
#include "executor/program_keys.h"
#include "executor/protection.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "sandbox/inside.h"
#include "workspace/state_folders.h"

namespace pawl::executor {
namespace {

void add_tiers(const plan::Plan& plan, store::NewRun& run) {
  for (std::size_t tier = 0; tier < plan.tiers.size(); ++tier) {
    const auto& planned = plan.tiers[tier];
    run.tiers.push_back({.tier_index = static_cast<std::int64_t>(tier),
                         .name = planned.name,
                         .stop_on_failure = planned.on_failure == plan::OnFailure::kStop,
                         .parallel = planned.parallel});
    for (std::size_t phase = 0; phase < planned.phases.size(); ++phase) {
      store::PhaseRow row;
      row.run_id = run.run.run_id;
      row.phase_id = planned.phases[phase].id;
      row.tier_index = static_cast<std::int64_t>(tier);
      row.phase_index = static_cast<std::int64_t>(phase);
      row.max_attempts = planned.phases[phase].max_attempts;
      run.phases.push_back(std::move(row));
    }
  }
}

// The plan as it was read, and its folder, which is mounted at /plan.
Status add_plan(workspace::Workspaces& workspaces, RunInput& input, store::NewRun& run) {
  PAWL_OK(settle_protection(workspaces, run.run.base_id, input.plan_file, input.plan));
  PAWL_TRY(const auto folder, keep_plan_folder(workspaces, input, run.run.source_path));
  if (input.plan.policy) PAWL_OK(workspaces.put_blob(input.policy_text));
  run.plan_text = input.plan_text;
  run.run.plan_file = input.plan_file;
  run.run.plan_content = folder.for_gates;
  input.plan.plan_for_agents = folder.for_agents;
  PAWL_OK(workspaces.check_before_use(folder.for_gates, {}));
  return workspaces.check_before_use(folder.for_agents, {});
}

// Checks a program of the workspace (./check) when it must come from the source.
Status check_program(const std::vector<std::string>& argv, const workspace::Workspaces& workspaces,
                     const std::string& base_id, const std::string& field) {
  const std::string program = argv.empty() ? "" : argv.front();
  const bool relative = !program.starts_with('/') && program.find('/') != std::string::npos;
  if (!relative || ("/" + program).find("/../") != std::string::npos) return {};
  if (workspaces.may_have(base_id, program)) return {};
  return fail(ErrorKind::kInvalid, field + ": " + program + " is not in the source");
}

// Refuses before the start a program that could only end with 127, attempt after attempt. Later phases may
// find programs that earlier phases made, and gates programs that the agent made. A probe judges the agent,
// so the agent must not be the one that makes it.
Status check_programs(const plan::Plan& plan, const workspace::Workspaces& workspaces,
                      const std::string& base_id) {
  const auto& first = plan.tiers.front();
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      const bool on_base = &tier == &first && (tier.parallel || &phase == &tier.phases.front());
      if (on_base)
        PAWL_OK(check_program(phase.agent.argv, workspaces, base_id, "phase " + phase.id + ", agent.run"));
      PAWL_OK(check_program(phase.resume.probe, workspaces, base_id, "resume.probe"));
    }
  return {};
}

// A fork on the plan of its run has the run's keys.
Status take_keys_of(store::Store& store, const store::RunRow& from, plan::Plan& plan) {
  for (auto& tier : plan.tiers)
    for (auto& phase : tier.phases) {
      if (!plan.wanted_keys.contains(phase.id)) continue;
      PAWL_TRY(auto planned, phase_of(store, from, phase.id));
      if (planned.credentials.size() == phase.credentials.size()) continue;
      phase.credentials = std::move(planned.credentials);
      plan.has_credentials = true;
      plan.wanted_keys.erase(phase.id);
    }
  return {};
}

// Phases before the point are over, and need no key.
Status add_keys_from(const std::string& phase_id, plan::Plan& plan) {
  std::set<std::string> over;
  bool begun = false;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      begun = begun || phase.id == phase_id;
      if (!begun) over.insert(phase.id);
    }
  const auto added = add_keys(plan);
  for (const auto& lacking : added.lacking)
    if (!over.contains(lacking.phase_id)) return no_key(finding_of(lacking).message);
  return {};
}

Result<std::string> create(store::Store& store, os::Clock& clock, os::Random& random, const plan::Plan& plan,
                           store::NewRun run) {
  const WallTime now = clock.wall();
  run.run.run_id = os::uuid7(now, random);
  run.run.workflow_id = plan.workflow;
  run.run.created_at = rfc3339(now);
  if (const auto cap = plan.budget.sandbox_seconds) run.sandbox_ms_cap = *cap * 1000;
  run.tokens_cap = plan.budget.of_agents.tokens;
  run.usd_nanos_cap = plan.budget.of_agents.usd_nanos;
  add_tiers(plan, run);
  run.plan = rows_of(plan);
  PAWL_OK(store.create_run(run, now));
  return run.run.run_id;
}

}  // namespace

Status check_not_collected(store::Store& store, const workspace::Workspaces& workspaces,
                           const store::RunRow& run) {
  const auto gone = [&](const std::string& what) {
    return fail(ErrorKind::kNotFound,
                what + " of run " + run.run_id +
                    " is gone (`pawl gc` takes it from runs that ended): nothing can go "
                    "on from it any more; start a new run");
  };
  if (!workspaces.has_base(run.base_id)) return gone("the base");
  if (!workspaces.has_base(run.plan_content)) return gone("the plan's folder");
  PAWL_TRY(const auto plan, common_of(store, run));
  if (!plan.plan_for_agents.empty() && !workspaces.has_base(plan.plan_for_agents))
    return gone("the plan's folder");
  if (plan.policy && !os::exists(workspaces.blob_path(plan.policy->blake3))) return gone("the policy");
  PAWL_TRY(const auto layers, store.accepted_layers(run.run_id));
  std::vector<std::string> ids;
  for (const auto& layer : layers) ids.push_back(layer.layer_id);
  std::erase(ids, "");
  PAWL_OK(workspaces.check_owner(run.base_id, ids));
  for (const auto& layer : layers)
    if (!layer.layer_id.empty() && !workspaces.has_layer(layer.layer_id))
      return gone("the work of phase " + layer.phase_id);
  return {};
}

std::string history_at(const plan::Common& plan) {
  return plan.git == plan::Git::kHistory ? sandbox::inside::kGitObjects : "";
}

workspace::Workspaces::Source source_of(const store::RunRow& run) {
  return {.path = run.source_path, .base = {.base_id = run.base_id, .git_commit = run.base_commit}};
}

Result<std::string> source_folder(const plan::Plan& plan, const std::string& plan_folder) {
  const std::string& path = plan.source_path;
  auto absolute = os::absolute_path(path.starts_with('/') ? path : os::join(plan_folder, path));
  if (!absolute) return std::unexpected(std::move(absolute).error().in("source.path"));
  if (!os::is_folder(*absolute))
    return fail(ErrorKind::kInvalid, "source.path: " + *absolute + " is not a folder");
  if (!plan.source_ref && os::is_state_folder(*absolute))
    return fail(ErrorKind::kInvalid, "source.path: " + *absolute +
                                         " is a state folder of Pawl (it has keys/ledger.key), and no step "
                                         "may see one; name a source, and a state folder apart from it");
  return absolute;
}

std::vector<std::string> unseen_state_folders(const plan::Plan& plan, const std::string& plan_file) {
  std::vector<std::string> out;
  const std::string plan_folder = os::folder_of(plan_file);
  const auto source = source_folder(plan, plan_folder);
  if (!source) return out;
  if (!plan.source_ref)
    for (const auto& path : workspace::state_folders_in(*source, {.patterns = plan.source_exclude}))
      out.push_back(os::join(*source, path));
  for (const auto& path : state_folders_beside(plan_file, *source))
    out.push_back(os::join(plan_folder, path));
  return out;
}

Result<std::string> start_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                              os::Random& random, RunInput input) {
  PAWL_TRY(const std::string source, source_folder(input.plan, os::folder_of(input.plan_file)));
  PAWL_TRY(const auto hold, workspaces.hold());
  workspaces.remove_left_over();  // They may be as large as the source.
  const auto& [ref, left_out] = std::tie(input.plan.source_ref, input.plan.source_exclude);
  PAWL_TRY(const auto base, ref ? workspaces.snapshot_git(source, *ref, left_out)
                                : workspaces.snapshot_directory(source, {.patterns = left_out}));
  PAWL_OK(workspaces.check_owner(base.base_id, {}));
  PAWL_OK(check_programs(input.plan, workspaces, base.base_id));
  // Before the first step, because a large source takes seconds, and Ctrl-C ends it here.
  if (input.plan.git != plan::Git::kNone)
    PAWL_OK(workspaces.repository_for({.path = source, .base = base}, {}, history_at(input.plan)));
  store::NewRun run;
  run.run.source_path = input.plan.source_folder = source;
  run.run.base_id = base.base_id;
  run.run.base_commit = base.git_commit;
  run.run.backend = input.backend;
  PAWL_OK(add_plan(workspaces, input, run));
  return create(store, clock, random, input.plan, std::move(run));
}

Result<std::string> fork_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                             os::Random& random, ForkInput input) {
  PAWL_TRY(const auto hold, workspaces.hold());
  PAWL_TRY(const auto from, store.run(input.fork.from.run_id));
  PAWL_OK(check_not_collected(store, workspaces, from));
  store::NewRun run{.run = {.source_path = from.source_path,
                            .base_id = from.base_id,
                            .base_commit = from.base_commit,
                            .backend = from.backend}};
  input.fork.same_plan = !input.plan;
  run.fork = input.fork;
  if (input.plan) {
    PAWL_TRY(const auto plan, plan_of(store, from));
    if (plan.source_exclude != input.plan->plan.source_exclude)
      return fail(ErrorKind::kInvalid,
                  "the plan has another `source.exclude` than the run, and a fork goes on from the source as "
                  "the run took it; leave the key as it was, or start a new run");
    PAWL_OK(check_fork_plan(plan, input.plan->plan, input.fork.from.phase_id));
    if (input.plan->plan.git == plan::Git::kHistory)
      PAWL_OK(workspaces.repository_for(source_of(from), {}, history_at(input.plan->plan)));
    PAWL_OK(add_keys_from(input.fork.from.phase_id, input.plan->plan));
    input.plan->plan.source_folder = from.source_path;
    PAWL_OK(add_plan(workspaces, *input.plan, run));
    return create(store, clock, random, input.plan->plan, std::move(run));
  }
  PAWL_TRY(run.plan_text, store.plan_text(from.run_id));
  run.run.plan_file = from.plan_file;
  run.run.plan_content = from.plan_content;
  PAWL_TRY(auto plan, plan_of(store, from));
  PAWL_OK(take_keys_of(store, from, plan));
  PAWL_OK(add_keys_from(input.fork.from.phase_id, plan));
  PAWL_OK(settle_protection(workspaces, from.base_id, "", plan));
  PAWL_TRY(const auto common, common_of(store, from));
  plan.plan_for_agents = common.plan_for_agents;
  plan.source_folder = from.source_path;
  return create(store, clock, random, plan, std::move(run));
}

}  // namespace pawl::executor
