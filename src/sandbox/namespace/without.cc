#include "sandbox/namespace/without.h"

#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/landlock.h"

namespace pawl::sandbox {
namespace {

constexpr std::string_view kDelegate =
    "; delegate a cgroup (Debian, Ubuntu, Fedora: systemd-run --user --scope -p Delegate=yes pawl ...; in a "
    "container: a writable /sys/fs/cgroup)";

}  // namespace

std::vector<Mechanism> namespace_does_without() {
  std::vector<Mechanism> out;
  const auto without = [&](const char* name, std::string_view instead, std::string_view what_to_do) {
    out.push_back({name, "degraded", std::string(instead) + std::string(what_to_do)});
  };
  const auto& home = cgroup_home();
  if (!home.limits("memory")) without("memory", "RLIMIT_DATA and a watcher of resident memory", kDelegate);
  if (!home.limits("pids")) without("pids", "RLIMIT_NPROC", kDelegate);
  if (!home.limits("cpu")) without("cpu", "nothing: the time budget only", kDelegate);
  if (landlock_abi() < kLandlockAbiMin)
    without(
        "landlock", "the mounts alone keep writing where it belongs",
        "; Debian: boot with lsm=landlock,lockdown,yama,integrity,apparmor; Ubuntu, Fedora: a kernel of 5.19 "
        "or later has it; in a container the host's kernel decides");
  return out;
}

}  // namespace pawl::sandbox
