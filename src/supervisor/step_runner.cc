#include "supervisor/step_runner.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>

#include "os/clock.h"
#include "sandbox/backend.h"
#include "sandbox/inside.h"
#include "supervisor/handed_over.h"
#include "supervisor/homes.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

constexpr std::array<std::string_view, 3> kStepFiles = {"output", "trace", "network"};  // by StepFile
constexpr std::string_view kPawlProgram = "pawl";  // beside the supervisor; it is the client of agents, too
constexpr std::int64_t kAskEveryMs = 200;          // how often `stop` is called while waiting
constexpr std::uint64_t kLogTailBytesMax = 4096;
// SIGKILL to a process in an uninterruptible wait can take this long.
constexpr std::int64_t kKillPatienceMs = 10'000;

// A reader of the step holds the lock for a moment, and so does an init process that is dying.
constexpr int kForgetTriesMax = 50;
constexpr std::int64_t kForgetPauseMs = 2;

// The part of the environment that a supervisor may know. It gets a person's secrets only to redact them.
std::vector<std::string> supervisor_environment() {
  const auto secret = secrets::secret_names(os::environment_value(secrets::kNamesVariable).value_or(""));
  std::vector<std::string> out;
  for (const auto& entry : os::environment()) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool wanted = name == "PATH" || name == "LANG" || name == "TZ" || name == "HOME" ||
                        name == "TMPDIR" || name.starts_with("PAWL_CRASH_") || name == "PAWL_CGROUP" ||
                        name.ends_with("SAN_OPTIONS") || name == secrets::kNamesVariable ||
                        std::ranges::find(secret, name) != secret.end();
    if (wanted) out.push_back(entry);
  }
  return out;
}

class SupervisedSteps final : public StepRunner {
 public:
  explicit SupervisedSteps(RunnerOptions options)
      : options_(std::move(options)), homes_(options_.folder, options_.key) {}

  Status start(const std::string& sandbox_run_id, const std::string& backend,
               const sandbox::SandboxSpec& spec, const std::vector<ContextFile>& context,
               const std::optional<AgentStep>& agent) override {
    const Spool spool = spool_of(sandbox_run_id);
    Job job{.sandbox_run_id = sandbox_run_id, .backend = backend, .spec = spec, .hidden = options_.hidden};
    HandedOver handed_over{.key = spool.key()};
    if (agent) {
      job.agent = agent->context;
      job.credentials = spool.seals_of(agent->credentials);
      job.fresh_home = agent->fresh_home;
      handed_over.credentials = agent->credentials;
      job.home_seals = homes_.seals_of(agent->credentials);
    }
    PAWL_TRY(const std::string input, to_bytes(handed_over));
    std::int64_t pid = 0;
    PAWL_OK(unless_forgotten([&]() -> Status {
      PAWL_OK(write_job(spool, job, context));
      PAWL_TRY(pid, os::spawn_detached({options_.executable, spool.folder()}, supervisor_environment(),
                                       spool.path("supervisor.log"), input));
      return {};
    }));
    const std::lock_guard guard(mutex_);
    children_[sandbox_run_id] = pid;
    return {};
  }

  Result<Found> find(const std::string& sandbox_run_id) override {
    return find_step(options_.folder, sandbox_run_id);
  }

  Status wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) override {
    const Spool spool = spool_of(sandbox_run_id);
    for (;;) {
      const os::Exit exit = gone_within(sandbox_run_id, spool, kAskEveryMs);
      if (exit.gone && exit.code.value_or(0) != 0) return supervisor_failed(spool, *exit.code);
      if (exit.gone) return {};
      if (stop())
        return fail(ErrorKind::kCancelled, "stopped waiting; the step goes on under its supervisor");
    }
  }

  Result<sandbox::SandboxRun> collect(const std::string& sandbox_run_id,
                                      const std::string& spec_hash) override {
    return spool_of(sandbox_run_id).read_result(spec_hash);
  }

  Status abandon(const std::string& sandbox_run_id) override {
    const Spool spool = spool_of(sandbox_run_id);
    PAWL_OK(unless_forgotten([&]() -> Status {
      PAWL_OK(os::make_folders(spool.folder(), 0700));
      PAWL_TRY(const auto lock, lock_of_nobody_alive(spool));
      return spool.abandoned() ? Status() : spool.write_abandoned();
    }));
    return end_sandbox(spool);
  }

  Result<Salvage> salvage(const std::string& sandbox_run_id, const std::vector<std::string>& probe,
                          const secrets::Redactor::Values& credentials) override {
    return supervisor::salvage(spool_of(sandbox_run_id), probe, credentials);
  }

  Result<KeptWork> keep_work(const std::string& sandbox_run_id,
                             const secrets::Redactor::Values& credentials) override {
    return supervisor::keep_work(spool_of(sandbox_run_id), credentials);
  }

  Status report_usage(const PrintedUsage& of) override {
    return supervisor::report_usage(spool_of(of.sandbox_run_id), of);
  }

  void forget(const std::string& sandbox_run_id) override {
    forget_by(sandbox_run_id,
              [](const Spool& spool) { static_cast<void>(os::remove_tree_at_once(spool.folder())); });
  }

  // gc removes the rest.
  void forget_lost(const std::string& sandbox_run_id) override {
    forget_by(sandbox_run_id, [](const Spool& spool) {
      keep_records(spool);
      // Remove job.json first: without it no supervisor starts, whatever files are left.
      static_cast<void>(os::remove_tree(spool.path(kJobFile)));
      const auto names = os::list_folder(spool.folder());
      if (!names) return;
      for (const auto& name : *names)
        if (name != "lock" && std::ranges::find(kStepFiles, name) == kStepFiles.end())
          static_cast<void>(os::remove_tree(spool.path(name)));
    });
  }

  Result<std::string> home_lacks(const agent::EpisodeKey& key, const std::string& attempt_id,
                                 const secrets::Redactor::Values& credentials) override {
    return homes_.lacks(key, attempt_id, credentials);
  }

  Result<std::string> hand_home_on(const std::string& run_id, const std::string& from_attempt_id,
                                   const std::string& to_attempt_id,
                                   const secrets::Redactor::Values& credentials) override {
    return homes_.hand_on(run_id, from_attempt_id, to_attempt_id, credentials);
  }

  void forget_homes(const std::string& run_id, const std::string& attempt_id) override {
    homes_.forget(run_id, attempt_id);
  }

 private:
  Spool spool_of(const std::string& sandbox_run_id) const {
    return {spool_folder(options_.folder, sandbox_run_id), Seal(options_.key, sandbox_run_id).key_of_part()};
  }

  void forget_by(const std::string& sandbox_run_id, const std::function<void(const Spool&)>& remove) {
    const Spool spool = spool_of(sandbox_run_id);
    // gc finds what cannot be removed now, because the step's marker is not open any more. Remove under the
    // lock and at once. A waiting process must still find a live supervisor, and a late supervisor must not
    // take the rest for a job.
    for (int tries = 0; tries < kForgetTriesMax; ++tries) {
      const auto lock = os::FileLock::try_lock(spool.path("lock"));
      if (!lock) break;  // the folder is gone
      if (*lock) {
        static_cast<void>(os::remove_tree(spool.work_folder()));
        remove(spool);
        break;
      }
      os::SystemClock().sleep_ms(kForgetPauseMs);
    }
    const std::lock_guard guard(mutex_);
    children_.erase(sandbox_run_id);
  }

  Status write_job(const Spool& spool, Job job, const std::vector<ContextFile>& context) const {
    PAWL_OK(os::make_folders(spool.folder(), 0700));
    for (auto& item : job.spec.copy_in) {
      if (!item.src.empty()) continue;
      if (item.dst == sandbox::inside::kAcpClient)
        item.src = os::join(os::folder_of(options_.executable), kPawlProgram);
      else
        PAWL_OK(os::make_folders(item.src = spool.path("context")));
    }
    for (const auto& file : context) {
      const std::string path = os::join(spool.path("context"), file.path);
      PAWL_OK(os::make_folders(os::folder_of(path)));
      PAWL_OK(os::write_atomically(path, file.bytes));
    }
    return spool.write_job(job);
  }

  // Several processes may give up and forget the same step at the same time: an operator who aborted the run,
  // and the executor that watched it. When another process removes the folder during a write, the write is
  // repeated.
  static Status unless_forgotten(const std::function<Status()>& write) {
    constexpr int kTriesMax = 10;
    for (int tries = 1;; ++tries) {
      auto written = write();
      if (written || written.error().kind != ErrorKind::kNotFound || tries == kTriesMax) return written;
    }
  }

  // The sandbox of a step whose job is gone, never was, or names an unknown backend may be of any backend.
  static Status end_sandbox(const Spool& spool) {
    const auto job = spool.read_job();
    auto names = sandbox::backend_names();
    if (job && std::ranges::find(names, job->backend) != names.end()) names = {job->backend};
    for (const auto& name : names) {
      PAWL_TRY(const auto backend, sandbox::make_backend(name));
      backend->end(spool.id());
    }
    return {};
  }

  // A supervisor takes the lock before it writes its identity: looks again until the identity is there. A
  // supervisor that was started and has not begun gets the lock after this process, and then sees the files
  // that are left.
  static Result<os::FileLock> lock_of_nobody_alive(const Spool& spool) {
    for (;;) {
      const auto identity = spool.identity();
      const bool elsewhere = identity && os::liveness(*identity) == os::Liveness::kUnknown;
      if (identity && !elsewhere) os::kill_process(*identity, kKillPatienceMs);
      PAWL_TRY(auto lock, os::FileLock::try_lock(spool.path("lock")));
      if (lock) return *std::move(lock);
      if (elsewhere)
        return fail(ErrorKind::kUnavailable, "step " + spool.id() +
                                                 " runs in another container or on another host (" +
                                                 os::to_text(*identity) + "): end it there");
      os::SystemClock().sleep_ms(5);
    }
  }

  // Whether no supervisor of this id runs (any more). Also its exit code, when it is a child of this process.
  os::Exit gone_within(const std::string& sandbox_run_id, const Spool& spool, std::int64_t timeout_ms) {
    std::int64_t child = 0;
    {
      const std::lock_guard guard(mutex_);
      if (const auto found = children_.find(sandbox_run_id); found != children_.end()) child = found->second;
    }
    if (child != 0) return os::wait_for_exit(child, timeout_ms);
    const auto identity = spool.identity();
    const auto liveness = identity ? os::liveness(*identity) : os::Liveness::kUnknown;
    if (liveness == os::Liveness::kDead) return {.gone = true};
    if (liveness == os::Liveness::kAlive) return os::wait_for_exit(identity->pid, timeout_ms);
    // The supervisor holds the lock and writes its identity within microseconds. Or its process id has no
    // meaning here, because it runs in another container or on another host.
    const auto found = find(sandbox_run_id);
    if (found && *found != Found::kRunning) return {.gone = true};
    os::SystemClock().sleep_ms(identity ? timeout_ms : 5);
    return {};
  }

  // Keeps the records for `pawl logs`. The result of a step that ended and was given up is removed, and no row names its
  // objects. A second name costs no space, and gc may remove the object. No process writes to this folder any more.
  static void keep_records(const Spool& spool) {
    const auto result = spool.read_result_of_any_spec();
    const auto workspaces = workspace::Workspaces::open(spool.pawl_folder());
    if (!result || !workspaces) return;
    const auto keep = [&](StepFile file, const std::string& id) {
      const std::string to = spool.path(kStepFiles[static_cast<std::size_t>(file)]);
      if (!id.empty()) static_cast<void>(link(workspaces->blob_path(id).c_str(), to.c_str()));
    };
    keep(StepFile::kOutput, result->run.logs);
    keep(StepFile::kTrace, result->run.trace);
    keep(StepFile::kNetwork, result->run.network_log);
  }

  // The supervisor could not do its work, and reported why. This is not a crash, and an immediate retry would
  // not fix it.
  static Status supervisor_failed(const Spool& spool, int code) {
    std::string words = os::read_tail(spool.path("supervisor.log"), kLogTailBytesMax).value_or("");
    while (words.ends_with('\n')) words.pop_back();
    words = words.substr(words.rfind('\n') + 1);
    if (code == kExitExhausted)
      return fail(ErrorKind::kExhausted,
                  "no space left for a step's result; free some space, then go on with "
                  "`pawl resume` " +
                      (words.empty() ? "" : "(" + words + ")"));
    return fail(ErrorKind::kIndeterminate,
                words.empty() ? "the supervisor of a step failed without a word: " + spool.folder() : words);
  }

  const RunnerOptions options_;
  const Homes homes_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> children_;  // pids by sandbox_run_id; guarded by mutex_
};

}  // namespace

std::unique_ptr<StepRunner> make_step_runner(RunnerOptions options) {
  PAWL_CHECK(options.key.size() == kHashKeySize);
  return std::make_unique<SupervisedSteps>(std::move(options));
}

Result<Found> find_step(const std::string& folder, const std::string& sandbox_run_id) {
  const Spool spool(spool_folder(folder, sandbox_run_id), {});  // no seal is read
  if (!os::is_folder(spool.folder())) return Found::kNothing;
  PAWL_TRY(const auto lock, os::FileLock::try_lock(spool.path("lock")));
  if (!lock) return Found::kRunning;
  return spool.has_result() ? Found::kSpooled : Found::kNothing;
}

Result<std::vector<std::string>> objects_in_use(const std::string& folder) {
  std::vector<std::string> out;
  const auto steps = os::list_folder(os::join(folder, "spool"));
  if (!steps && steps.error().kind == ErrorKind::kNotFound) return out;
  PAWL_OK(steps);
  for (const auto& step : *steps) {
    PAWL_TRY(const auto used, objects_named_in(spool_folder(folder, step)));
    out.insert(out.end(), used.begin(), used.end());
  }
  return out;
}

std::string spool_folder(const std::string& folder, const std::string& sandbox_run_id) {
  return os::join(os::join(folder, "spool"), sandbox_run_id);
}

std::string homes_of(const std::string& run_id, const std::string& attempt_id) {
  return os::join(kHomes, run_id + "." + attempt_id);
}

std::string step_path(const std::string& folder, const std::string& sandbox_run_id, StepFile file) {
  return os::join(spool_folder(folder, sandbox_run_id), kStepFiles[static_cast<std::size_t>(file)]);
}

}  // namespace pawl::supervisor
