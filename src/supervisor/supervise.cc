// Composes one step of a job, runs it, and spools its result.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "egress/egress.h"
#include "os/crash_point.h"
#include "os/process.h"
#include "sandbox/backend.h"
#include "supervisor/agent.h"
#include "supervisor/collect.h"
#include "supervisor/handed_over.h"
#include "supervisor/homes.h"
#include "supervisor/output.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

Result<sandbox::Folders> make_work_folders(const Spool& spool, const Job& job,
                                           const workspace::Workspaces& workspaces) {
  const std::string root = spool.work_folder();
  sandbox::Folders folders{
      .upper = os::join(root, "upper"), .work = os::join(root, "work"), .scratch = os::join(root, "scratch")};
  PAWL_OK(os::make_private_folder(os::folder_of(root)));
  PAWL_OK(os::make_private_folder(root));
  for (const auto& folder : {folders.upper, folders.work, folders.scratch}) PAWL_OK(os::make_folders(folder));
  if (job.agent) {
    PAWL_TRY(folders.home, make_home(spool.pawl_folder(), *job.agent, job.fresh_home, job.home_seals));
  }
  auto layers = job.spec.workspace.layers;
  std::ranges::copy(job.spec.workspace.git_layers, std::back_inserter(layers));
  PAWL_OK(workspaces.check_owner(job.spec.workspace.base_id, layers));
  folders.lower = git_folders(job.spec.workspace, workspaces);
  std::ranges::move(lower_folders(job.spec.workspace, workspaces), std::back_inserter(folders.lower));
  folders.hidden = hidden_folders(spool, job);
  return folders;
}

// `lock` stays held until every process of the sandbox is dead.
Result<sandbox::Execution> run_step(const Spool& spool, const Job& job, const sandbox::Folders& folders,
                                    StepOutput& output, int lock) {
  PAWL_TRY(auto backend, sandbox::make_backend(job.backend));
  PAWL_TRY(auto agent, AgentSocket::open(
                           spool, job, [&](std::string_view line) { output.add_log_line(line); },
                           [&](std::string_view text) { return output.redact(text); }));
  sandbox::Events events;
  events.on_output = [&](sandbox::Stream stream, std::string_view bytes) {
    if (stream == sandbox::Stream::kStdout) agent.hear(bytes);
    output.add(stream, bytes);
  };
  events.should_stop = [&] { return agent.must_end(); };
  PAWL_TRY(events.open_outlet,
           egress::outlet_of(job.spec, [&](std::string_view line) { output.add_network_line(line); }));
  events.on_trace = [&](std::string_view line) { output.add_trace_line(line); };
  events.redact = [&](std::string_view text) { return output.redact_argument(text); };
  events.held = {lock};
  auto execution = backend->execute(job.spec, folders, events, job.sandbox_run_id);
  os::crash_point("supervisor.executed");
  agent.close(execution.run);
  agent.report(execution.run);
  output.finish();
  return execution;
}

// Adds the credentials to the job, for the sandbox alone. The job without them has the hash, the files and the result.
Job with_credentials(Job job, const secrets::Redactor::Values& credentials) {
  for (const auto& [name, value] : credentials) job.spec.env.push_back(name + "=" + value);
  return job;
}

Status run_job(const Spool& spool, const os::FileLock& lock, const secrets::Redactor::Values& credentials) {
  PAWL_TRY(const Job job, spool.read_job());
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(spool.pawl_folder()));
  PAWL_TRY(const auto folders, make_work_folders(spool, job, workspaces));
  PAWL_TRY(const auto output, StepOutput::open(spool, job, credentials));
  PAWL_TRY(auto execution, run_step(spool, with_credentials(job, credentials), folders, *output, lock.fd()));
  // Held until the result names the objects that are made.
  PAWL_TRY(const auto hold, workspaces.hold());
  PAWL_OK(output->status());
  PAWL_OK(collect_changes(job, folders, execution, workspaces, credentials));
  PAWL_OK(output->store(workspaces, execution.run));
  execution.run.mounts = sandbox::mounts_of(job.spec);
  return spool.write_result(spec_hash(job.spec), execution.run);
}

}  // namespace

int supervise(const std::string& spool_folder) {
  os::refuse_to_be_looked_into();
  os::set_crash_role("supervisor");
  os::ignore_write_signals();
  umask(022);  // not the caller's: a step sees the folders made here
  const auto input = os::take_standard_input();
  const auto handed_over = handed_over_in(input.value_or(""));
  if (!handed_over) {
    std::fprintf(stderr, "pawl supervisor: %s\n", handed_over.error().message.c_str());
    return 1;
  }
  const Spool spool(spool_folder, handed_over->key);
  // Waits: a process that reads this step holds the lock for a moment only.
  auto lock = os::FileLock::lock(spool.path("lock"));
  // The step was given up, and no process waits for it.
  const auto forgotten = [&] { return !os::exists(spool.path(kJobFile)); };
  if (!lock) {
    if (forgotten()) return 0;
    std::fprintf(stderr, "pawl supervisor: %s\n", lock.error().message.c_str());
    return 1;
  }
  // Given up by a recovery, or begun by another supervisor before: this id must never run (again).
  if (forgotten() || spool.abandoned() || spool.has_result() || spool.identity()) return 0;
  auto status = spool.write_identity(os::this_process());
  if (status) status = run_job(spool, *lock, handed_over->credentials);
  // A crash before this leaves only files, which gc finds by their names. An agent whose result could not be stored,
  // as on a full disk, leaves its work to keep_work(); forget_lost() removes it.
  const auto job = spool.read_job();
  if (status || !job || !job->agent) static_cast<void>(os::remove_tree(spool.work_folder()));
  if (status || forgotten()) return 0;
  std::fprintf(stderr, "pawl supervisor: %s\n", status.error().message.c_str());
  return status.error().kind == ErrorKind::kExhausted ? kExitExhausted : 1;
}

}  // namespace pawl::supervisor
