#include "sandbox/namespace/namespace_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/isolation.h"
#include "base/json.h"
#include "os/clock.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "os/temporary_folder.h"
#include "sandbox/environment.h"
#include "sandbox/inside.h"
#include "sandbox/namespace/assemble.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/conclude.h"
#include "sandbox/namespace/copy_tree.h"
#include "sandbox/namespace/degraded.h"
#include "sandbox/namespace/dumpable.h"
#include "sandbox/namespace/etc.h"
#include "sandbox/namespace/handover.h"
#include "sandbox/namespace/health.h"
#include "sandbox/namespace/idmap.h"
#include "sandbox/namespace/landlock.h"
#include "sandbox/namespace/mount_defences.h"
#include "sandbox/namespace/mounts.h"
#include "sandbox/namespace/watch.h"

namespace pawl::sandbox {
namespace {

struct Pipe {
  os::UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  return Pipe{os::UniqueFd(fds[0]), os::UniqueFd(fds[1])};
}

struct SocketPair {
  os::UniqueFd ours, theirs;
};

Result<SocketPair> make_socket_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return fail_errno(errno, "socketpair");
  return SocketPair{os::UniqueFd(fds[0]), os::UniqueFd(fds[1])};
}

// The pipes and sockets between this process and the sandbox.
struct Ways {
  Pipe out, err, report;
  SocketPair sync, cgroups;
  os::UniqueFd self;  // pidfd of this process: readable once it has ended, even if the pidfd is inherited

  static Result<Ways> make(const Identity& identity) {
    Ways ways;
    PAWL_TRY(ways.out, make_pipe());
    PAWL_TRY(ways.err, make_pipe());
    for (const auto* pipe : {&ways.out, &ways.err}) give_pipe(pipe->read_end.get(), identity);
    PAWL_TRY(ways.report, make_pipe());
    PAWL_TRY(ways.sync, make_socket_pair());
    PAWL_TRY(ways.cgroups, make_socket_pair());
    ways.self.reset(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    if (!ways.self) return fail_errno(errno, "pidfd_open");
    return ways;
  }

  void lend_to(ChildJob& job) const {
    job.sync_fd = sync.theirs.get();
    job.cgroups_fd = cgroups.theirs.get();
    job.parent_fd = self.get();
    job.report_fd = report.write_end.get();
    job.stdout_fd = out.write_end.get();
    job.stderr_fd = err.write_end.get();
    job.descriptors = {job.sync_fd,   job.cgroups_fd, job.parent_fd,
                       job.report_fd, job.stdout_fd,  job.stderr_fd};
    if (job.stdin_fd >= 0) job.descriptors.push_back(job.stdin_fd);
    job.descriptors.insert(job.descriptors.end(), job.held.begin(), job.held.end());
    std::ranges::sort(job.descriptors);
  }

  void close_theirs() {
    for (auto* fd : {&sync.theirs, &cgroups.theirs, &self, &out.write_end, &err.write_end, &report.write_end})
      fd->reset();
  }
};

void add_default(std::vector<std::string>& env, std::string_view entry) {
  const auto name = entry.substr(0, entry.find('=') + 1);
  if (std::ranges::none_of(env, [&](const std::string& each) { return each.starts_with(name); }))
    env.emplace_back(entry);
}

// Makes a private copy of each copy_in with kReadWrite. Without overlays, makes a merged copy of each copy_in
// that consists of several trees. All others keep their path on the host.
Result<std::vector<CopiedIn>> copy_in(const SandboxSpec& spec, const std::string& scratch,
                                      bool copied_trees) {
  std::vector<CopiedIn> out;
  for (const auto& item : spec.copy_in) {
    struct stat status {};
    if (stat(item.src.c_str(), &status) != 0) return fail_errno(errno, "copy_in", item.src);
    CopiedIn copied{.path = item.src, .is_folder = S_ISDIR(status.st_mode)};
    if (item.access == Access::kReadWrite) {
      copied.path = os::join(scratch, "in" + std::to_string(out.size()));
      PAWL_OK(copy_tree(item.src, copied.path));
    } else if (!item.below.empty() && copied_trees) {
      std::vector<std::string> trees{item.src};
      trees.insert(trees.end(), item.below.begin(), item.below.end());
      copied.path = os::join(scratch, "in" + std::to_string(out.size()));
      PAWL_OK(os::remove_tree(copied.path));
      PAWL_OK(os::make_folders(copied.path));
      PAWL_OK(copy_merged(trees, copied.path));
    } else {
      copied.below = item.below;
    }
    out.push_back(std::move(copied));
  }
  return out;
}

Status make_folder(const std::string& path, mode_t mode) {
  PAWL_OK(os::make_folders(path));
  if (chmod(path.c_str(), mode) != 0) return fail_errno(errno, "chmod", path);
  return {};
}

// Makes the folder for large files with the mode of /tmp: every user may write, and only the
// owner may remove a file. Makes HOME, unless the caller brings one.
Status make_scratch(const Folders& folders) {
  if (folders.scratch.empty()) return {};
  PAWL_OK(make_folder(large_files_of(folders), 01777));
  return folders.home.empty() ? make_folder(home_of(folders), 0755) : Status();
}

// Enforces the rule of Folders::home.
Status check_below_home(const SandboxSpec& spec, const Folders& folders) {
  const std::string home = inside::kHome + std::string("/");
  for (const auto& item : spec.copy_in)
    if (!folders.home.empty() && item.dst.starts_with(home))
      return fail(ErrorKind::kInvalid, "copy_in: " + item.dst + " is in a HOME that another sandbox had");
  return {};
}

// The paths on disk that the disk limit covers. Paths in memory are bounded by the size of the tmpfs.
std::vector<WritablePath> writable_on_disk(const SandboxSpec& spec, const Folders& folders,
                                           const std::vector<CopiedIn>& copied_in) {
  std::vector<WritablePath> out;
  if (!folders.upper.empty()) out.push_back({.outside = folders.upper, .inside = inside::kWorkspace});
  if (!folders.scratch.empty())
    out.push_back({.outside = large_files_of(folders), .inside = inside::kLargeFiles});
  if (const std::string home = home_of(folders); !home.empty())
    out.push_back({.outside = home, .inside = inside::kHome, .counts_whole = !folders.home.empty()});
  for (std::size_t i = 0; i < copied_in.size(); ++i)
    if (spec.copy_in[i].access == Access::kReadWrite)
      out.push_back({.outside = copied_in[i].path, .inside = spec.copy_in[i].dst});
  return out;
}

// The parent's half of the mounts. As root, the parent clones the trees of the user and maps their owner.
Status send_trees(const MountPlan& plan, const Identity& identity, int sync_fd) {
  if (!identity.privileged) return {};
  std::unique_ptr<IdmapNamespace> idmap;
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    const auto& [path, owner] = plan.sources[i];
    os::UniqueFd tree;
    if (owner == Source::Owner::kOwn) {
      if (!idmap) {
        PAWL_TRY(idmap, IdmapNamespace::make(identity));
      }
      PAWL_TRY(tree, idmap->clone_tree(path));
    } else {
      tree.reset(clone_tree(path));
      const bool is_theirs = owner != Source::Owner::kGiven ||
                             chown(path.c_str(), identity.outside_uid, identity.outside_gid) == 0;
      if (!tree || !is_theirs) return fail_errno(errno, "open_tree", path);
    }
    if (!hand_over(sync_fd, HandOver::kTree, i, tree.get())) return fail_errno(errno, "start");
  }
  return {};
}

// Makes and sends the cgroups while the init prepares itself; the command joins each one as it arrives.
Status send_cgroups(Cgroup& cgroup, bool limit_by_rlimits, int cgroups_fd) {
  const CommandLimits limits{.by_rlimits = limit_by_rlimits,
                             .cgroups_follow = cgroup.is_joined() ? cgroup.size() : 0};
  if (send(cgroups_fd, &limits, sizeof limits, MSG_NOSIGNAL) != sizeof limits)
    return fail_errno(errno, "start");
  for (std::size_t i = 0; i < limits.cgroups_follow; ++i) {
    PAWL_TRY(const auto tasks, cgroup.make(i));
    if (!hand_over(cgroups_fd, HandOver::kCgroup, i, tasks)) return fail_errno(errno, "start");
  }
  return {};
}

// The name for a message. A terminal obeys control characters, also U+0080 to U+009F and their single bytes.
// Another name is kept, because gates look for the program that a step lacks.
std::string shown(const std::string& program) {
  bool is_obeyed = valid_utf8(program) != program;
  for (std::size_t i = 0; i < program.size() && !is_obeyed; ++i) {
    const auto at = [&](std::size_t n) { return static_cast<unsigned char>(program.c_str()[n]); };
    is_obeyed = at(i) < 0x20 || at(i) == 0x7F || (at(i) == 0xC2 && at(i + 1) < 0xA0);
  }
  return is_obeyed ? printable(program) : program;
}

// Pointers to the words and a final nullptr, as execve(2) takes them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// The paths that a step may write to. Elsewhere the mounts are read-only, and Landlock
// denies writing once more.
std::vector<std::string> writable_paths(const SandboxSpec& spec) {
  std::vector<std::string> out{inside::kWorkspace,  inside::kHome, inside::kTemporary,
                               inside::kLargeFiles, "/dev",        inside::kRun};
  for (const auto& item : spec.copy_in)
    if (item.access == Access::kReadWrite) out.push_back(item.dst);
  return out;
}

class NamespaceBackend final : public Backend {
 public:
  std::string name() const override { return std::string(kNamespaceBackend); }
  std::string gate_isolation_class() const override { return std::string(kSharedKernel); }
  // Where namespaces are available, a masked /proc (containers) or an AppArmor profile may still prevent a
  // sandbox. Only the cached view of /etc stays on disk (etc.h).
  Status check(const SandboxSpec& spec) override {
    PAWL_TRY(const std::string trace, make_one(spec.enable_trace));
    if (!spec.enable_trace || trace.find("/bin/true") != std::string::npos) return {};
    return fail(ErrorKind::kDenied, std::string(kTraceIsEmpty));
  }

  Execution execute(const SandboxSpec& wanted, const Folders& folders, const Events& events,
                    const std::string& sandbox_run_id) override {
    SandboxSpec spec = wanted;
    add_default(spec.env, path_inside());
    for (const char* entry : inside::kUserEnvironment) add_default(spec.env, entry);
    if (!folders.scratch.empty()) add_default(spec.env, std::string("TMPDIR=") + inside::kLargeFiles);
    const os::SystemClock clock;
    const MonoTime start = clock.mono();
    Execution execution;
    auto& run = execution.run;
    run.run_id = sandbox_run_id;
    run.backend = name();
    run.gate_isolation_class = gate_isolation_class();
    run.egress_allowlist = spec.egress_allowlist;
    run.degraded = degraded_names();
    run.started_at = rfc3339(clock.wall());
    if (auto made = try_modes(spec, folders, events, execution); !made) {
      run.outcome = Outcome::kSetupFailed;
      run.reason = made.error().error.message;
      execution.fault = std::move(made).error();
    }
    run.ended_at = rfc3339(clock.wall());
    run.duration_ms = ms_between(start, clock.mono());
    return execution;
  }

  Health health(const ClosedOutlets& outlets) override { return namespace_health(*this, outlets); }
  std::vector<Mechanism> degraded() override { return degraded_mechanisms(); }
  // overlayfs creates this folder.
  Changes changes_left(const Folders& folders) override {
    return os::is_folder(os::join(folders.work, "work")) ? Changes::kOverlay : Changes::kWholeTree;
  }

  // No process of it is left: the kernel kills the whole sandbox when the thread that called execute() dies
  // (PR_SET_PDEATHSIG on the init of its pid namespace).
  void end(const std::string& sandbox_run_id) override {
    if (cgroup_home().kind != CgroupKind::kNone) remove_cgroups(kCgroupRoot, sandbox_run_id);
  }
  void clean_up() override {
    if (cgroup_home().kind != CgroupKind::kNone) sweep_cgroups(kCgroupRoot);
    os::sweep_temporary_folders(os::temporary_stem());
    sweep_etc_views();
  }

 private:
  // Runs /bin/true in a sandbox and returns its trace. kDenied: no sandbox could be made.
  Result<std::string> make_one(bool traced) {
    SandboxSpec spec;
    spec.cmd = {"/bin/true"};
    spec.label = "usable";
    spec.enable_trace = traced;
    const os::SystemClock clock;
    os::SystemRandom random;
    std::string trace;
    const Events events{.on_output = [](Stream, std::string_view) {},
                        .on_trace = [&](std::string_view line) { trace += line; }};
    const auto run = execute(spec, {}, events, os::uuid7(clock.wall(), random)).run;
    if (run.outcome != Outcome::kSetupFailed) return trace;
    return fail(ErrorKind::kDenied, (traced ? "" : "no sandbox can be made here: ") + run.reason);
  }

  // Decided once a process, because its facts do not change.
  static const std::vector<std::string>& degraded_names() {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> out;
      for (const auto& each : degraded_mechanisms()) out.push_back(each.name);
      return out;
    }();
    return names;
  }

  // The arguments of execute(), with its input and its result.
  struct Arguments {
    const SandboxSpec& spec;
    const Folders& folders;
    const Events& events;
    Input& input;
    Execution& execution;
  };

  // Runs with an overlay. Where the kernel or the file system does not support one, runs
  // with a copy of the trees.
  Made try_modes(const SandboxSpec& spec, const Folders& folders, const Events& events,
                 Execution& execution) {
    PAWL_TRY(Input input, Input::make(events.input, sandbox_identity()));
    const Arguments arguments{spec, folders, events, input, execution};
    auto made = run_once(arguments, false);
    if (made || made.error().mechanism != kOverlay) return made;
    PAWL_OK(copy_merged(folders.lower, folders.upper));
    execution.changes = Changes::kWholeTree;
    execution.run.degraded.emplace_back(kOverlay);
    return run_once(arguments, true);
  }

  static Made run_once(const Arguments& arguments, bool copied) {
    const auto& [spec, folders, events, input, execution] = arguments;
    PAWL_OK(check_below_home(spec, folders));
    PAWL_OK(make_scratch(folders));
    PAWL_TRY(const auto copied_in, copy_in(spec, folders.scratch, copied));
    PAWL_TRY(const auto etc, etc_view());
    std::vector<std::string> hidden = folders.hidden;
    if (const auto home = os::environment_value("HOME")) hidden.push_back(*home);
    Cgroup cgroup(
        cgroup_home(), execution.run.run_id,
        {.memory_mib = spec.memory_limit_mib, .pids = spec.pids_limit, .cpu_millis = spec.cpu_limit_millis});
    const OfHost of_host{.covered = covered_of_host(hidden),
                         .in_lower = covered_of_workspace(folders.hidden, folders.lower),
                         .cgroups = cgroup.views(),
                         .etc = etc.path,
                         .quotas = namespace_quotas()};
    const MountPlan plan =
        with_defences(plan_mounts(spec, folders, copied_in, of_host, copied), os::defences());
    const auto outlet = spec.network == Network::kScoped ? events.open_outlet() : nullptr;
    ChildJob job{.spec = &spec,
                 .plan = &plan,
                 .trees = std::vector<int>(plan.sources.size(), -1),
                 .use_landlock = landlock_abi() >= kLandlockAbiMin,
                 .has_layers = !copied && !folders.lower.empty() && !folders.upper.empty(),
                 .processors = Processors::of_this_process(),
                 .defences = os::defences(),
                 .argv = pointers(spec.cmd),
                 .env = pointers(spec.env),
                 .shown = shown(spec.cmd.front()),
                 .writable = writable_paths(spec),
                 .stdin_fd = input.read_end(),
                 .held = events.held};
    if (outlet) job.listeners = &outlet->listeners();
    DiskWatch disk(writable_on_disk(spec, folders, copied_in), spec.disk_limit_mib << 20);
    auto made = start_and_watch(arguments, job, cgroup, disk, outlet.get());
    if (outlet) execution.run.egress_refused = outlet->refused();
    cgroup.remove();
    return made;
  }

  // The /proc files of an undumpable process belong to root, and an ordinary user could not write
  // the id maps of its child.
  static int clone_init(const os::Defences& defences, int into_cgroup, int& pidfd) {
    Dumpable for_the_id_maps;
    const int pid = clone_process(namespaces_from_start(defences), into_cgroup, pidfd);
    if (pid == 0) for_the_id_maps.stay();
    return pid;
  }

  static Made start_and_watch(const Arguments& arguments, ChildJob& job, Cgroup& cgroup, DiskWatch& disk,
                              Outlet* outlet) {
    const Events& events = arguments.events;
    SandboxRun& run = arguments.execution.run;
    int into_cgroup = -1;
    if (!cgroup.is_joined() && cgroup.size() > 0) {
      PAWL_TRY(into_cgroup, cgroup.make(0));
    }
    const Identity identity = sandbox_identity();
    PAWL_TRY(Ways ways, Ways::make(identity));
    ways.lend_to(job);
    int pidfd = -1;
    const int pid = clone_init(job.defences, into_cgroup, pidfd);
    if (pid < 0) return std::unexpected(Fault(fail_errno(errno, kNoNamespaces).error(), kNamespaces));
    if (pid == 0) run_child(job);
    job.processors.send_elsewhere(pid);
    // The init prepares itself from here on. The parent first sends what the init waits for.
    const ChildStart start{.privileged = identity.privileged};
    auto started = write_id_maps(pid, identity);
    if (started && send(ways.sync.ours.get(), &start, sizeof start, MSG_NOSIGNAL) != sizeof start)
      started = fail_errno(errno, "start");
    const auto& home = cgroup_home();
    Watched watched{.pid = pid,
                    .pidfd = os::UniqueFd(pidfd),
                    .stdout_fd = std::move(ways.out.read_end),
                    .stderr_fd = std::move(ways.err.read_end),
                    .report_fd = std::move(ways.report.read_end),
                    .input = &arguments.input,
                    .sync_fd = std::move(ways.sync.ours),
                    .outlet = outlet,
                    .has_layers = job.has_layers && job.defences.pid,
                    .disk = &disk,
                    .watch_memory = !home.limits("memory") || !home.limits("pids"),
                    .cgroup = &cgroup,
                    .spec = job.spec,
                    .events = &events};
    ways.close_theirs();
    if (started) started = send_cgroups(cgroup, watched.watch_memory, ways.cgroups.ours.get());
    ways.cgroups.ours.reset();
    if (started) started = send_trees(*job.plan, identity, watched.sync_fd.get());
    if (!started) watched.sync_fd.reset();  // the child reads end of file and exits
    const Ending ending = watch(watched);
    if (!ending.report) PAWL_OK(started);  // the child's own report is more specific
    return conclude(ending, *job.plan, run);
  }
};

}  // namespace

std::unique_ptr<Backend> make_namespace_backend() { return std::make_unique<NamespaceBackend>(); }

}  // namespace pawl::sandbox
