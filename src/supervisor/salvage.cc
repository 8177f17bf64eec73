// Salvages the work of a step whose supervisor died: for the probe that decides whether it counts, or for the next
// execution of an agent.
#include <algorithm>
#include <iterator>

#include "agent/usage_reader.h"
#include "os/clock.h"
#include "sandbox/probe.h"
#include "secrets/redact.h"
#include "supervisor/collect.h"
#include "supervisor/printed_usage.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

constexpr std::int64_t kProbeSeconds = 20;  // shorter than the lease of the process that waits for it

Result<sandbox::SandboxRun> run_of(const Spool& spool, const Job& job, const workspace::Collected& layer,
                                   workspace::Workspaces& workspaces, const secrets::Redactor& redactor) {
  const std::string now = rfc3339(os::SystemClock().wall());
  sandbox::SandboxRun run;
  run.run_id = spool.id();
  run.backend = job.backend;
  run.gate_isolation_class = sandbox::isolation_class_of(job.backend);
  run.started_at = now;
  run.ended_at = now;
  run.outcome = sandbox::Outcome::kExited;
  run.exit_code = 0;
  run.reason = "its result was lost; the probe found that its effect had happened";
  run.layer = layer.layer_id;
  for (const auto& path : layer.refused) run.refused.push_back(redactor.redact(path));
  for (const auto& path : layer.withheld) run.withheld.push_back(redactor.redact(path));
  run.refused_total = layer.refused_total;
  run.rewritten = layer.rewritten;
  run.mounts = sandbox::mounts_of(job.spec);
  if (os::exists(spool.path("output"))) {
    PAWL_TRY(run.logs, workspaces.put_blob_file(spool.path("output")));
  }
  return run;
}

bool is_empty(const std::string& folder) {
  const auto names = os::list_folder(folder);
  return names && names->empty();
}

// Whether the supervisor ended before the sandbox had a workspace: it was killed early, or the disk was full. Its agent
// changed neither the work nor HOME of the executions before. A workspace has `work/work` of overlayfs, or files, or its
// command printed a line; each result has taken the folder away.
bool never_started(const Spool& spool) {
  if (spool.has_result()) return false;
  if (!os::exists(spool.work_folder())) return true;
  const auto output = os::read_tail(spool.path("output"), 1);
  return is_empty(os::join(spool.work_folder(), "upper")) &&
         is_empty(os::join(spool.work_folder(), "work")) && (!output || output->empty());
}

}  // namespace

std::vector<std::string> lower_folders(const sandbox::WorkspaceSpec& spec,
                                       const workspace::Workspaces& workspaces) {
  if (!spec.base_id.empty()) return workspaces.trees_of(spec.base_id, spec.layers);
  std::vector<std::string> lower;
  for (const auto& layer : spec.layers) lower.push_back(workspaces.layer_tree(layer));
  return lower;
}

std::vector<std::string> git_folders(const sandbox::WorkspaceSpec& spec,
                                     const workspace::Workspaces& workspaces) {
  std::vector<std::string> lower;
  for (const auto& layer : spec.git_layers) lower.push_back(workspaces.layer_tree(layer));
  return lower;
}

std::vector<std::string> hidden_folders(const Spool& spool, const Job& job) {
  std::vector<std::string> hidden = job.hidden;
  const std::string state = spool.pawl_folder();
  hidden.push_back(state);
  if (state.ends_with("/.pawl")) hidden.push_back(os::folder_of(state));
  return hidden;
}

std::string home_of(const std::string& pawl_folder, const agent::Context& agent) {
  const agent::EpisodeKey& key = agent.key;
  const std::string attempt_id = key.goal_id + "." + std::to_string(agent.attempt);
  return os::join(os::join(pawl_folder, homes_of(key.run_id, attempt_id)), key.episode_id);
}

Result<KeptWork> keep_work(const Spool& spool, const secrets::Redactor::Values& credentials) {
  const auto without = [](std::string what) { return KeptWork{.layer = {}, .missing = std::move(what)}; };
  if (!os::exists(spool.path(kIdentityFile))) return KeptWork{.began = false, .layer = {}, .missing = {}};
  const auto supervisor = spool.identity();
  if (!supervisor || supervisor->boot_id != os::this_process().boot_id) return without("restart");
  const auto job = spool.read_job();
  if (!job && (job.error().kind == ErrorKind::kForged || job.error().kind == ErrorKind::kNotFound))
    return without("workspace");
  PAWL_OK(job);
  if (never_started(spool)) return KeptWork{.began = false, .layer = {}, .missing = {}};
  const std::string upper = os::join(spool.work_folder(), "upper");
  const std::string home = job->agent ? home_of(spool.pawl_folder(), *job->agent) : "";
  if (!os::is_folder(home)) return without("home");
  if (!os::is_folder(upper)) return without("workspace");
  if (job->credentials != spool.seals_of(credentials)) return without("credentials");
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(spool.pawl_folder()));
  const auto& seen = job->spec.workspace;
  PAWL_TRY(const auto backend, sandbox::make_backend(job->backend));
  const auto changes = backend->changes_left({.lower = lower_folders(seen, workspaces),
                                              .upper = upper,
                                              .work = os::join(spool.work_folder(), "work")});
  // A copy of the whole tree may have been cut short: what is not in it would count as deleted.
  if (sandbox::is_whole_tree(changes)) return without("workspace");
  if (seen.own_layer.empty() && is_empty(upper) && is_empty(home)) return without("workspace");
  const std::string second = os::join(spool.work_folder(), "kept");
  PAWL_OK(workspace::link_upper(upper, second));
  PAWL_TRY(auto layer, collect_layer(second, seen, false, workspaces, caps_of(*job, credentials)));
  return KeptWork{.layer = std::move(layer.layer_id), .missing = {}};
}

Status report_usage(const Spool& spool, const PrintedUsage& of) {
  // The supervisor writes its result after its report.
  if (spool.read_result_of_any_spec()) return {};
  // The job is gone when the end of the step is recorded: an executor that lost its lease may still give it up. The
  // supervisor makes the output before it starts the program, and moves it away after its own report. After a restart
  // of the machine both may be lost.
  const std::string file = step_path(spool.pawl_folder(), spool.id(), StepFile::kOutput);
  const bool is_there = os::exists(spool.path(kJobFile)) && os::exists(file);
  if (!is_there && of.same_boot) return {};
  std::string output;
  if (is_there) {
    PAWL_TRY(output, os::read_tail(file, agent::kPrintedBytesMax));
  }
  PAWL_TRY(const auto path, agent::episode_path(spool.pawl_folder(), of.key));
  PAWL_TRY(const auto journal, agent::Journal::open(path, agent::Journal::Access::kReadWrite));
  const Printer printer{.sandbox_run_id = of.sandbox_run_id,
                        .reader = of.reader,
                        .model = of.model,
                        .earlier = journals_before(spool.pawl_folder(), of.key)};
  const auto as_it_is = [](std::string_view text) { return std::string(text); };  // the output is redacted
  PAWL_TRY([[maybe_unused]] const auto reported, report_printed(*journal, printer, output, as_it_is));
  return {};
}

Result<Salvage> salvage(const Spool& spool, const std::vector<std::string>& probe,
                        const secrets::Redactor::Values& credentials) {
  if (!os::exists(spool.path(kIdentityFile))) return Salvage{.began = false};
  const auto supervisor = spool.identity();
  if (!supervisor) return Salvage{};  // the identity is unreadable: the disk has a fault
  const std::string upper = os::join(spool.work_folder(), "upper");
  // An overlay's upper is not synced while the step runs: its content after a power cut is not evidence.
  if (supervisor->boot_id != os::this_process().boot_id || !os::is_folder(upper)) return Salvage{};
  const auto read = spool.read_job();
  // kForged: the spool has another job than the one that began. Its workspace and the environment for the probe are
  // not evidence.
  if (!read && read.error().kind == ErrorKind::kForged) return Salvage{};
  PAWL_OK(read);
  const Job& job = *read;
  if (job.credentials != spool.seals_of(credentials)) return Salvage{};
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(spool.pawl_folder()));
  const auto lower = lower_folders(job.spec.workspace, workspaces);
  PAWL_TRY(const auto backend, sandbox::make_backend(job.backend));
  const auto changes =
      backend->changes_left({.lower = lower, .upper = upper, .work = os::join(spool.work_folder(), "work")});
  sandbox::ProbeSpec spec{.cmd = probe,
                          .env = job.spec.env,
                          .lower = {upper},
                          .git_objects = job.spec.workspace.git_objects,
                          .shown = job.spec.copy_in};
  spec.hidden = hidden_folders(spool, job);
  spec.time_budget_seconds = kProbeSeconds;
  if (!sandbox::is_whole_tree(changes)) {
    std::ranges::move(git_folders(job.spec.workspace, workspaces), std::back_inserter(spec.lower));
    std::ranges::copy(lower, std::back_inserter(spec.lower));
  }
  PAWL_TRY(const auto probed, sandbox::run_in_sandbox(*backend, spec));
  Salvage out;
  if (probed.run.outcome == sandbox::Outcome::kExited) out.exit_code = probed.run.exit_code;
  if (out.exit_code == 0) {
    PAWL_TRY(const auto hold, workspaces.hold());
    PAWL_TRY(const auto layer, collect_layer(upper, job.spec.workspace, sandbox::is_whole_tree(changes),
                                             workspaces, caps_of(job, credentials)));
    PAWL_TRY(const auto redactor, secrets::open_redactor(spool.pawl_folder()));
    redactor->learn(credentials);
    PAWL_TRY(out.run, run_of(spool, job, layer, workspaces, *redactor));
    // The work is a layer now: after a crash here the next recovery adopts this result.
    PAWL_OK(spool.write_result(spec_hash(job.spec), out.run));
  }
  return out;
}

}  // namespace pawl::supervisor
