#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "os/crash_point.h"
#include "os/process.h"
#include "sandbox/backend.h"
#include "sandbox/trace/tracer.h"
#include "secrets/redact.h"
#include "supervisor/agent.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

// Appends output as it comes, so that `pawl logs -f` can follow it.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path) {
    os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_errno(errno, "create output", path);
    return OutputFile(std::move(fd), path);
  }
  // Without `wanted` the result has no file, and no bytes may be appended.
  static Result<OutputFile> create_if(bool wanted, const std::string& path) {
    if (!wanted) return OutputFile(os::UniqueFd(), path);
    return create(path);
  }
  void append(std::string_view bytes) {
    while (!bytes.empty() && error_ == 0) {
      const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = errno;  // remembered: a log with a hole must not pass for a whole one
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
      size_ += written;
    }
  }
  Status status() const {
    if (error_ != 0) return fail_errno(error_, "write output", path_);
    return {};
  }
  std::int64_t size() const { return size_; }

 private:
  OutputFile(os::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  os::UniqueFd fd_;
  std::string path_;
  int error_ = 0;
  std::int64_t size_ = 0;
};

struct WorkFolders {
  sandbox::Folders folders;
};

Result<WorkFolders> make_work_folders(const Spool& spool, const Job& job,
                                      const workspace::Workspaces& workspaces) {
  WorkFolders work;
  const std::string root = spool.work_folder();
  work.folders.upper = os::join(root, "upper");
  work.folders.work = os::join(root, "work");
  work.folders.scratch = os::join(root, "scratch");
  PAWL_OK(os::make_private_folder(os::folder_of(root)));
  PAWL_OK(os::make_private_folder(root));
  for (const auto& folder : {work.folders.upper, work.folders.work, work.folders.scratch})
    PAWL_OK(os::make_folders(folder));
  PAWL_OK(workspaces.check_owner(job.spec.workspace.base_id, job.spec.workspace.layers));
  work.folders.lower = lower_folders(job.spec.workspace, workspaces);
  work.folders.hidden = hidden_folders(spool, job);
  return work;
}

void add_refusals(const workspace::Collected& of, sandbox::SandboxRun& run) {
  run.refused.insert(run.refused.end(), of.refused.begin(), of.refused.end());
  run.refused.resize(std::min(run.refused.size(), workspace::kRefusedNamedMax));
  run.refused_total += of.refused_total;
}

// Turns the changes of the step into objects and puts their ids into the run.
Status collect_changes(const Job& job, const WorkFolders& work, sandbox::Changes changes,
                       workspace::Workspaces& workspaces, sandbox::SandboxRun& run) {
  if (run.outcome == sandbox::Outcome::kSetupFailed) return {};
  std::string made = work.folders.upper;
  const bool copied = changes == sandbox::Changes::kWholeTree;
  const workspace::Caps caps{.bytes = job.spec.disk_limit_mib << 20, .own_times = !job.agent};
  if (copied) {
    // The upper is the whole tree: only the differences are the step's own.
    PAWL_TRY(const auto layer, workspaces.collect(made, work.folders.lower, true, caps));
    add_refusals(layer, run);
    run.rewritten = layer.rewritten;
    if (job.spec.keep_layer) run.layer = layer.layer_id;
    if (layer.layer_id.empty()) return {};
    made = workspaces.layer_tree(layer.layer_id);
  }
  if (!job.spec.copy_out.empty()) {
    PAWL_TRY(const auto matching, workspaces.collect_matching(made, job.spec.copy_out, caps));
    run.copy_out = matching.layer_id;
    if (!job.spec.keep_layer) add_refusals(matching, run);
  }
  if (copied || !job.spec.keep_layer) return {};
  PAWL_TRY(const auto layer, workspaces.collect(made, work.folders.lower, false, caps));
  run.layer = layer.layer_id;
  run.rewritten = layer.rewritten;
  add_refusals(layer, run);
  return {};
}

Status run_job(const Spool& spool, const os::FileLock& lock) {
  PAWL_TRY(const Job job, spool.read_job());
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(spool.pawl_folder()));
  PAWL_TRY(auto backend, sandbox::make_backend(job.backend));
  PAWL_TRY(const WorkFolders work, make_work_folders(spool, job, workspaces));
  PAWL_TRY(auto output, OutputFile::create(spool.path("output")));
  PAWL_TRY(auto network,
           OutputFile::create_if(job.spec.network == sandbox::Network::kScoped, spool.path("network")));
  PAWL_TRY(auto trace, OutputFile::create_if(job.spec.enable_trace, spool.path("trace")));

  PAWL_TRY(const auto redactor, secrets::open_redactor(spool.pawl_folder()));
  // One redactor per stream: bytes of the other stream in between are not part of a secret.
  secrets::Redactor::Stream out(*redactor), err(*redactor);
  std::mutex output_mutex;  // guards output: the agent's log lines come from another thread
  PAWL_TRY(auto agent, AgentSocket::open(spool, job, [&](std::string_view line) {
             const std::lock_guard guard(output_mutex);
             output.append(redactor->redact(line));
           }));
  sandbox::Events events;
  events.on_output = [&](sandbox::Stream stream, std::string_view bytes) {
    if (stream == sandbox::Stream::kStdout) agent.hear(bytes);
    const std::lock_guard guard(output_mutex);
    output.append((stream == sandbox::Stream::kStdout ? out : err).take(bytes));
  };
  events.should_stop = [&] { return agent.must_end(); };
  events.on_network = [&](std::string_view line) { network.append(redactor->redact(line) + "\n"); };
  events.on_trace = [&](std::string_view line) { trace.append(redactor->redact(line) + "\n"); };
  events.redact = [&](std::string_view text) {
    // The tracer reads at most this many bytes of an argument, so a longer one is cut.
    return text.size() < sandbox::kTraceLookBytesMax ? redactor->redact(text)
                                                     : redactor->redact_beginning(text);
  };
  events.held = {lock.fd()};
  auto execution = backend->execute(job.spec, work.folders, events, job.sandbox_run_id);
  os::crash_point("supervisor.executed");
  agent.close();
  auto& run = execution.run;
  agent.report(run);
  output.append(out.finish());
  output.append(err.finish());

  // Held until the result names the objects that are made.
  PAWL_TRY(const auto hold, workspaces.hold());
  for (const auto* file : {&output, &network, &trace}) PAWL_OK(file->status());
  PAWL_OK(collect_changes(job, work, execution.changes, workspaces, run));
  for (auto& path : run.refused) path = redactor->redact(path);
  run.logs_bytes = output.size();
  const auto keep = [&](const OutputFile& file, std::string_view name, std::string& id) -> Status {
    if (file.size() == 0) return {};
    PAWL_TRY(id, workspaces.put_blob_file(spool.path(name)));
    return {};
  };
  PAWL_OK(keep(output, "output", run.logs));
  PAWL_OK(keep(network, "network", run.network_log));
  PAWL_OK(keep(trace, "trace", run.trace));
  return spool.write_result(spec_hash(job.spec), run);
}

}  // namespace

int supervise(const std::string& spool_folder) {
  os::refuse_to_be_looked_into();
  os::set_crash_role("supervisor");
  os::ignore_write_signals();
  umask(022);  // not the caller's: a step sees the folders made here
  const Spool spool(spool_folder);
  // Waits: a process that reads this step holds the lock for a moment only.
  auto lock = os::FileLock::lock(spool.path("lock"));
  // The step was given up, and no process waits for it.
  const auto forgotten = [&] { return !os::exists(spool.path("job.json")); };
  if (!lock) {
    if (forgotten()) return 0;
    std::fprintf(stderr, "pawl supervisor: %s\n", lock.error().message.c_str());
    return 1;
  }
  // Given up by a recovery, or begun by another supervisor before: this id must never run (again).
  if (forgotten() || spool.abandoned() || spool.has_result() || spool.identity()) return 0;
  auto status = spool.write_identity(os::this_process());
  if (status) status = run_job(spool, *lock);
  // Spooled or lost, the work folder is not needed. A crash before this leaves only files, which gc finds by
  // their names.
  static_cast<void>(os::remove_tree(spool.work_folder()));
  if (status || forgotten()) return 0;
  std::fprintf(stderr, "pawl supervisor: %s\n", status.error().message.c_str());
  return status.error().kind == ErrorKind::kExhausted ? kExitExhausted : 1;
}

}  // namespace pawl::supervisor
