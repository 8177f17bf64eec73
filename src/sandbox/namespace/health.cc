#include "sandbox/namespace/health.h"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/inside.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/degraded.h"
#include "sandbox/namespace/idmap.h"
#include "sandbox/namespace/landlock.h"
#include "sandbox/namespace/trials.h"

namespace pawl::sandbox {
namespace {

constexpr std::string_view kNamespaceAdvice =
    "; Debian: sysctl kernel.unprivileged_userns_clone=1; Ubuntu: sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0, or an "
    "AppArmor profile with `userns,`; Fedora: sysctl user.max_user_namespaces=15000; in a container: run it "
    "privileged";
constexpr std::string_view kNoSandbox = "no sandbox could be made: see namespaces";
// Without renames programs pay more: most copy the folder and remove the original, some fail.
constexpr std::string_view kNoRename =
    "a folder of the base can't be renamed (EXDEV): no seccomp notification can be had here, or Pawl may not "
    "read "
    "the sandbox's memory (does Pawl itself run under one, as in some containers? is "
    "kernel.yama.ptrace_scope "
    "above 1?)";
constexpr std::string_view kNotHeld = "it did not hold; no step is safe here";

class Report {
 public:
  explicit Report(Backend& backend)
      : health_{.backend = backend.name(), .gate_isolation_class = backend.gate_isolation_class()} {}

  // Adds a mechanism on which the safety of a step depends.
  void required(const std::string& name, bool held, const std::string& detail, std::string_view advice = "") {
    health_.usable = health_.usable && held;
    add(name, held, detail, runs_ ? std::string(kNotHeld) + std::string(advice) : std::string(kNoSandbox));
  }
  // Adds a limit, like required(). The replacement of a cgroup is weaker and is reported as degraded.
  void limit(const std::string& name, bool held, const std::string& detail) {
    const auto found = std::ranges::find(degraded_, name, &Mechanism::name);
    if (found == degraded_.end() || !held) return required(name, held, detail);
    degraded(name, found->detail);
  }
  void add(const std::string& name, bool works, const std::string& detail, const std::string& missing) {
    health_.mechanisms.push_back(
        {name, works ? MechanismStatus::kWorks : MechanismStatus::kMissing, works ? detail : missing});
  }
  void namespaces(const SandboxRun& run) {
    runs_ = run.outcome != Outcome::kSetupFailed;
    health_.usable = runs_;
    add(std::string(kNamespaces), runs_, "user, mount, pid, net, ipc, uts, cgroup",
        run.reason + std::string(kNamespaceAdvice));
  }
  void degraded(const std::string& name, std::string_view instead) {
    health_.mechanisms.push_back(
        {name, MechanismStatus::kDegraded, std::string(instead) + std::string(degraded_advice(name))});
  }
  bool runs() const { return runs_; }
  Health take() { return std::move(health_); }

 private:
  Health health_;
  bool runs_ = false;
  const std::vector<Mechanism> degraded_ = degraded_mechanisms();
};

void add_isolation(Backend& backend, Report& report) {
  const Trial trial = attack_isolation(backend);
  report.namespaces(trial.execution.run);
  const auto required = [&](const std::string& name, const std::string& detail,
                            std::string_view advice = "") {
    report.required(name, trial.printed(name), detail, advice);
  };
  required("privileges", fmt::format("uid {} inside is uid {} outside; no capabilities, no_new_privs",
                                     inside::kUid, sandbox_identity().outside_uid));
  required("seccomp", "a list of allowed calls; other numberings are killed",
           "; the kernel needs CONFIG_SECCOMP_FILTER, as Debian's, Ubuntu's and Fedora's have it");
  report.limit("landlock", landlock_abi() < kLandlockAbiMin || trial.printed("landlock"),
               fmt::format("ABI {}", landlock_abi()));
  required("files", "an allowlist of the host");
  required("read_only", "what is shown of the host, and what a plan shows");
  required(
      "proc", "own processes only, leaky files masked",
      "; in a container: Docker --security-opt systempaths=unconfined, Podman --security-opt unmask=ALL");
  required("network", "none: loopback only");
  required("session", "its own, without a terminal");
  required("descriptors", "none inherited above 2");
  report.required("init", trial.printed("init") && trial.execution.run.exit_code == kAttacked,
                  "can't be looked into, ended or spoken for");
  required("rlimits", "no core dumps; open files");
  report.required("supervisor", trial.closed, "its memory is closed to its user (PR_SET_DUMPABLE)");
  required("workspace", "can be written", "; is there room below TMPDIR, or /var/tmp?");
  report.add("rename", trial.printed("rename"), "of the base's folders, too",
             std::string(report.runs() ? kNoRename : kNoSandbox));
  if (is_whole_tree(trial.execution.changes)) return report.degraded(std::string(kOverlay), kNoOverlay);
  report.add(std::string(kOverlay), report.runs(), "userxattr", std::string(kNoSandbox));
}

void add_limits(Backend& backend, Report& report) {
  const auto& home = cgroup_home();
  const std::string by = home.kind == CgroupKind::kV2 ? "cgroup v2" : "cgroup v1";
  const LimitTrials trials = meet_limits(backend);
  // Without a cgroup, a program that asks for more memory may be refused.
  const bool told = !home.limits("memory") && trials.memory.ended(Outcome::kExited) &&
                    trials.memory.execution.run.exit_code != 0;
  report.limit("memory", trials.memory.ended(Outcome::kOomKilled) || told, by);
  report.limit("pids", report.runs() && !trials.pids.printed("made"), by);
  const auto& loop = trials.cpu.execution.run;
  // A loop limited to a tenth of a processor takes at most a quarter, because the
  // kernel grants time in pieces.
  const bool slow = report.runs() && loop.cpu_ms * 4 <= loop.duration_ms;
  report.limit("cpu", slow || (report.runs() && !home.limits("cpu")), by);
  report.required("disk", meet_disk_limit(backend).ended(Outcome::kDiskLimit),
                  "a watcher; one file by RLIMIT_FSIZE");
  report.required("output", trials.output.ended(Outcome::kOutputLimit), "counted as it is passed on");
  report.required("time", trials.cpu.ended(Outcome::kTimedOut), "SIGTERM, then the end of all");
}

// Tests both in one sandbox, unless a trace is not available.
void add_egress_and_trace(Backend& backend, const ClosedOutlets& outlets, Report& report) {
  const std::string refused = "refused.invalid";
  SandboxSpec spec{.cmd = {"getent", "hosts", refused},
                   .network = Network::kScoped,
                   .egress_allowlist = {"allowed.invalid:443"},
                   .enable_trace = true};
  Trial trial = try_out(backend, spec, outlets.open);
  const bool traced = trial.trace.find("getent") != std::string::npos;
  const std::string untraced = trial.execution.run.reason;
  const auto& fault = trial.execution.fault;
  if (fault && fault->mechanism == kTrace) {
    spec.enable_trace = false;
    trial = try_out(backend, spec, outlets.open);
  }
  const std::string& why = trial.execution.run.reason;
  report.add("egress", trial.execution.run.egress_refused > 0 && outlets.have_refused(refused),
             "network: scoped, by name, through the supervisor",
             why.empty()
                 ? "getent asked for no name in there (Debian, Ubuntu: libc-bin; Fedora: glibc-common)"
                 : why);
  report.add(std::string(kTrace), traced, "seccomp user notification",
             untraced.empty() ? kTraceIsEmpty : untraced);
}

}  // namespace

Health namespace_health(Backend& backend, const ClosedOutlets& outlets) {
  Report report(backend);
  add_isolation(backend, report);
  add_limits(backend, report);
  add_egress_and_trace(backend, outlets, report);
  return report.take();
}

}  // namespace pawl::sandbox
