#include "sandbox/namespace/health.h"

#include <fmt/format.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "os/temporary_folder.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/child.h"
#include "sandbox/namespace/idmap.h"
#include "sandbox/namespace/landlock.h"

namespace pawl::sandbox {
namespace {

// Pushes against each wall, and prints the name of each that holds.
constexpr std::string_view kPush = R"sh(
holds() { if eval "$2" >/dev/null 2>&1; then echo "$1"; fi; }
status() { grep -q "^$1:[[:space:]]*$2\$" /proc/self/status; }
holds privileges 'status CapEff 0000000000000000 && status NoNewPrivs 1 && [ "$(id -u)" != 0 ]'
holds seccomp 'status Seccomp 2 && ! unshare -U true'
holds landlock '! (echo x > /proc/self/comm)'
holds files '! touch /usr/x && ! touch /etc/x && ! ls /root/* && ! ls /home/* && ! cat /etc/shadow'
holds proc '[ "$(ls /proc | grep -c "^[0-9]")" -lt 10 ] && [ -z "$(cat /proc/kallsyms)" ]'
holds network '[ "$(grep -c : /proc/net/dev)" = 1 ]'
holds workspace 'touch /workspace/x && rm /workspace/x'
)sh";

constexpr std::string_view kNamespaceAdvice =
    "; Debian: sysctl kernel.unprivileged_userns_clone=1; Ubuntu: sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0, or an "
    "AppArmor profile with `userns,`; Fedora: sysctl user.max_user_namespaces=15000; in a container: run it "
    "privileged";

struct Trial {
  Execution execution;
  std::string out, network, trace;
  bool printed(std::string_view word) const {
    return ("\n" + out).find("\n" + std::string(word) + "\n") != std::string::npos;
  }
};

Trial try_out(Backend& backend, SandboxSpec spec) {
  Trial trial;
  os::SystemRandom random;
  const std::string id = os::uuid7(os::SystemClock().wall(), random);
  const auto temporary = os::TemporaryFolder::make(os::temporary_stem());
  const std::string root = temporary ? temporary->path() : "";
  const Folders folders{{root + "/lower"}, root + "/rw/upper", root + "/rw/work", root + "/scratch"};
  Status made = temporary ? Status() : std::unexpected(temporary.error());
  for (const auto& folder : {folders.lower.front(), folders.upper, folders.work, folders.scratch})
    if (made) made = os::make_folders(folder, 0700);
  spec.time_budget_seconds = 10;
  if (made)
    trial.execution = backend.execute(spec, folders,
                                      {.on_output = [&](auto, std::string_view bytes) { trial.out += bytes; },
                                       .on_network = [&](std::string_view line) { trial.network += line; },
                                       .on_trace = [&](std::string_view line) { trial.trace += line; },
                                       .held = {temporary->lock_fd()}},
                                      id);
  else
    trial.execution.run.reason = made.error().message;
  return trial;
}

std::string_view words(CgroupKind kind) {
  switch (kind) {
    case CgroupKind::kV2:
      return "cgroup v2";
    case CgroupKind::kV1:
      return "cgroup v1";
    case CgroupKind::kNone:
      return "no cgroup";
  }
  return {};
}

void add_limits(Health& health) {
  const auto& home = cgroup_home();
  for (const std::string controller : {"memory", "pids", "cpu"}) {
    const bool limited = home.limits(controller);
    const std::string instead = controller == "memory" ? "RLIMIT_DATA and a watcher of resident memory"
                                : controller == "pids" ? "RLIMIT_NPROC"
                                                       : "nothing: the time budget only";
    health.mechanisms.push_back({controller, limited ? "works" : "degraded",
                                 limited ? std::string(words(home.kind))
                                         : instead + "; delegate a cgroup for more (docs/operations.md)"});
  }
  health.mechanisms.push_back({"disk", "works", "RLIMIT_FSIZE for one file, a watcher for all"});
}

// Both in one sandbox, as long as there is a trace.
void add_egress_and_trace(Backend& backend, Health& health) {
  SandboxSpec spec{.cmd = {"getent", "hosts", "refused.invalid"},
                   .network = Network::kScoped,
                   .egress_allowlist = {"allowed.invalid:443"},
                   .enable_trace = true};
  Trial trial = try_out(backend, spec);
  const bool traced = trial.trace.find("getent") != std::string::npos;
  const std::string untraced = trial.execution.run.reason;
  if (untraced.starts_with(kNoTrace)) {
    spec.enable_trace = false;
    trial = try_out(backend, spec);
  }
  const bool egress = trial.network.find("refused.invalid") != std::string::npos;
  const std::string& why = trial.execution.run.reason;
  health.mechanisms.push_back({"egress", egress ? "works" : "missing",
                               egress        ? "network: scoped, by name, through the supervisor"
                               : why.empty() ? "getent asked for no name in there (Debian: libc-bin)"
                                             : why});
  health.mechanisms.push_back(
      {"trace", traced ? "works" : "missing",
       traced             ? "seccomp user notification"
       : untraced.empty() ? "Pawl may not read the sandbox's memory (is kernel.yama.ptrace_scope above 1?)"
                          : untraced});
}

}  // namespace

Health namespace_health(Backend& backend) {
  Health health{.backend = backend.name(), .gate_isolation_class = backend.gate_isolation_class()};
  const Trial walls = try_out(backend, {.cmd = {"sh", "-c", std::string(kPush)}});
  const bool runs = walls.execution.run.outcome == Outcome::kExited;
  health.usable = runs;
  health.mechanisms.push_back({"namespaces", runs ? "works" : "missing",
                               runs ? "user, mount, pid, net, ipc, uts, cgroup"
                                    : walls.execution.run.reason + std::string(kNamespaceAdvice)});
  const auto wall = [&](const std::string& name, const std::string& detail) {
    const bool held = walls.printed(name);
    health.usable = health.usable && held;
    health.mechanisms.push_back(
        {name, held ? "works" : "missing", held ? detail : "it did not hold; no step is safe here"});
  };
  wall("privileges", fmt::format("uid {} inside is uid {} outside; no capabilities, no_new_privs", kInsideUid,
                                 sandbox_identity().outside_uid));
  wall("seccomp", "a list of allowed calls; other numberings are killed");
  if (landlock_abi() >= kLandlockAbiMin)
    wall("landlock", fmt::format("ABI {}", landlock_abi()));
  else
    health.mechanisms.push_back(
        {"landlock", "degraded", "the kernel has none (boot with lsm=landlock,...): the mounts alone hold"});
  wall("files", "an allowlist of the host, read-only");
  wall("proc", "own processes only, leaky files masked");
  wall("network", "none: loopback only");
  wall("workspace", "can be written");
  health.mechanisms.push_back(
      {"overlay", walls.execution.copied ? "degraded" : (runs ? "works" : "missing"),
       walls.execution.copied ? "copies of the whole workspace are made instead" : "userxattr"});
  add_limits(health);
  add_egress_and_trace(backend, health);
  return health;
}

}  // namespace pawl::sandbox
