#include "executor/start_run.h"

#include "os/file.h"
#include "plan/parse.h"

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

}  // namespace

Result<std::string> source_folder(const plan::Plan& plan, const std::string& plan_folder) {
  const std::string& path = plan.source_path;
  auto absolute = os::absolute_path(path.starts_with('/') ? path : os::join(plan_folder, path));
  if (!absolute) return std::unexpected(std::move(absolute).error().in("source.path"));
  if (!os::is_folder(*absolute))
    return fail(ErrorKind::kInvalid, "source.path: " + *absolute + " is not a folder");
  return absolute;
}

Result<std::string> start_run(store::Store& store, workspace::Workspaces& workspaces, os::Clock& clock,
                              os::Random& random, const RunInput& input) {
  const std::string plan_folder = os::folder_of(input.plan_file);
  PAWL_TRY(const std::string source, source_folder(input.plan, plan_folder));
  PAWL_TRY(const auto base, input.plan.source_ref ? workspaces.snapshot_git(source, *input.plan.source_ref)
                                                  : workspaces.snapshot_directory(source));
  // The source may lie inside the plan's folder; /plan is for the plan's own scripts.
  std::vector<std::string> exclude;
  if (source != plan_folder) exclude.push_back(source);
  PAWL_TRY(const auto plan_content, workspaces.snapshot_directory(plan_folder, exclude));

  const WallTime now = clock.wall();
  store::NewRun run;
  run.run.run_id = os::uuid7(now, random);
  run.run.workflow_id = input.plan.workflow;
  run.run.plan_text = input.plan_text;
  run.run.plan_file = input.plan_file;
  run.run.plan_content = plan_content.base_id;
  run.run.source_path = source;
  run.run.base_id = base.base_id;
  run.run.base_commit = base.git_commit;
  run.run.backend = input.backend;
  run.run.created_at = rfc3339(now);
  if (const auto cap = input.plan.budget.sandbox_seconds) run.sandbox_ms_cap = *cap * 1000;
  add_tiers(input.plan, run);
  PAWL_OK(store.create_run(run, now));
  return run.run.run_id;
}

Result<plan::Plan> plan_of(const store::RunRow& run) {
  auto parsed = plan::parse(run.plan_text, run.plan_file);
  if (parsed.plan) return *std::move(parsed.plan);
  return fail(ErrorKind::kCorrupt, "the plan of run " + run.run_id + " does not parse: " +
                                       (parsed.problems.empty() ? "" : to_text(parsed.problems.front())));
}

}  // namespace pawl::executor
