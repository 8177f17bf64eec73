#include "sandbox/namespace/trials.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <array>
#include <thread>

#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "os/temporary_folder.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kTrialSeconds = 10;  // no trial takes so long, unless a limit does not hold

// Prints a word for each attack that failed. The error must come from the mechanism itself: a read-only mount
// has another error than a folder without rights.
constexpr std::string_view kAttack = R"sh(
holds() { if eval "$2" >/dev/null 2>&1; then echo "$1"; fi; }
status() { grep -q "^$1:[[:space:]]*$2\$" /proc/self/status; }
no_writing() { ( : > "$1" ) 2>&1 | grep -q 'Read-only file system'; }
holds privileges 'status CapEff 0000000000000000 && status NoNewPrivs 1 && [ "$(id -u)" != 0 ]'
holds seccomp 'status Seccomp 2 && ! unshare -U true'
holds landlock '! (echo x > /proc/self/comm)'
holds files '! ls /root/* && [ "$(echo /home/*)" = /home/agent ] && ! ls /home/agent/* && ! cat /etc/shadow && ! ls /var/log && ! ls /var/lib/misc'
holds read_only 'no_writing /usr/x && no_writing /etc/x && no_writing /x && no_writing /shown/x'
holds proc '[ "$(ls /proc | grep -c "^[0-9]")" -lt 10 ] && [ -z "$(cat /proc/kallsyms)" ]'
holds network '[ "$(grep -c : /proc/net/dev)" = 1 ]'
holds session '[ "$(cut -d" " -f6,7 /proc/self/stat)" = "1 0" ] && ! (: < /dev/tty)'
holds descriptors '[ "$(echo $(ls /proc/self/fd))" = "0 1 2 3" ]'
holds rlimits '! (ulimit -c 1) && ! (ulimit -H -n 20000)'
holds workspace 'touch /workspace/x && rm /workspace/x'
holds rename '{ mv below moved && echo x >&3; } 3>> below/file && [ -s moved/file ]'
holds init '! cat /proc/1/environ && ! ls /proc/1/fd && { kill -9 1; kill -STOP 1; true; }'
exit 9
)sh";

Trial run(Backend& backend, const SandboxSpec& spec, const Folders& folders, std::vector<int> held,
          const OpenOutlet& open_outlet) {
  Trial trial;
  os::SystemRandom random;
  const auto look = [&](Stream, std::string_view bytes) {
    trial.out += bytes;
    trial.closed = trial.closed && prctl(PR_GET_DUMPABLE) == 0;
  };
  trial.execution =
      backend.execute(spec, folders,
                      {.on_output = look,
                       // Some shells retry a refused fork for many seconds.
                       .should_stop = [&] { return trial.out.find("fork") != std::string::npos; },
                       .open_outlet = open_outlet,
                       .on_trace = [&](std::string_view line) { trial.trace += line; },
                       .held = std::move(held)},
                      os::uuid7(os::SystemClock().wall(), random));
  return trial;
}

}  // namespace

bool Trial::printed(std::string_view word) const {
  return ("\n" + out).find("\n" + std::string(word) + "\n") != std::string::npos;
}

Trial try_out(Backend& backend, SandboxSpec spec, const OpenOutlet& open_outlet) {
  Trial trial;
  const auto fail_with = [&](const Error& error) {
    trial.execution.run.reason = error.message;
    return trial;
  };
  const auto temporary = os::TemporaryFolder::make(os::temporary_stem());
  if (!temporary) return fail_with(temporary.error());
  const std::string& root = temporary->path();
  const Folders folders{
      .lower = {root + "/lower"}, .upper = root + "/rw/upper", .work = root + "/rw/work", .scratch = root};
  const std::string shown = root + "/shown";
  for (const auto& folder : {folders.lower.front() + "/below", folders.upper, folders.work, shown})
    if (const auto made = os::make_folders(folder, 0700); !made) return fail_with(made.error());
  if (const auto made = os::write_atomically(folders.lower.front() + "/below/file", ""); !made)
    return fail_with(made.error());
  spec.time_budget_seconds = kTrialSeconds;
  spec.copy_in = {{.src = shown, .dst = "/shown"}};
  return run(backend, spec, folders, {temporary->lock_fd()}, open_outlet);
}

Trial attack_isolation(Backend& backend) {
  // A descriptor without close-on-exec, which only the sandbox closes.
  const os::UniqueFd leaked(open("/dev/null", O_RDONLY));  // NOLINT(android-cloexec-open)
  const int before = prctl(PR_GET_DUMPABLE);
  os::refuse_to_be_looked_into();  // as the process that hosts a step does
  Trial trial = try_out(backend, {.cmd = {"sh", "-c", std::string(kAttack)}});
  prctl(PR_SET_DUMPABLE, before);  // other callers start sandboxes in several threads
  return trial;
}

LimitTrials meet_limits(Backend& backend) {
  LimitTrials trials;
  const auto meet = [&](Trial& trial, SandboxSpec spec) {
    return std::jthread(
        [&backend, &trial, spec = std::move(spec)] { trial = run(backend, spec, {}, {}, {}); });
  };
  // None has a workspace: a process can run several such sandboxes at once (backend.h).
  const std::array meeting = {
      meet(trials.memory,
           {.cmd = {"tail", "/dev/zero"}, .time_budget_seconds = kTrialSeconds, .memory_limit_mib = 64}),
      meet(trials.pids, {.cmd = {"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 9 & done; echo made"},
                         .time_budget_seconds = kTrialSeconds,
                         .pids_limit = 6}),
      meet(trials.cpu, {.cmd = {"sh", "-c", "while :; do :; done"},
                        .time_budget_seconds = 1,
                        .cpu_limit_millis = kTrialCpuMillis}),
      meet(trials.output, {.cmd = {"yes"}, .time_budget_seconds = kTrialSeconds, .output_limit_bytes = 1000}),
  };
  return trials;
}

Trial meet_disk_limit(Backend& backend) {
  return try_out(backend,
                 {.cmd = {"sh", "-c", "head -c 2000000 /dev/zero > x; exec sleep 9"}, .disk_limit_mib = 1});
}

}  // namespace pawl::sandbox
