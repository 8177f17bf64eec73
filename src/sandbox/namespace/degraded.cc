#include "sandbox/namespace/degraded.h"

#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/landlock.h"

namespace pawl::sandbox {

std::vector<Mechanism> degraded_mechanisms() {
  std::vector<Mechanism> out;
  const auto add = [&](const char* name, const char* instead) {
    out.push_back({name, MechanismStatus::kDegraded, instead});
  };
  const auto& home = cgroup_home();
  if (!home.limits("memory")) add("memory", "a watcher of resident memory");
  if (!home.limits("pids")) add("pids", "RLIMIT_NPROC");
  if (!home.limits("cpu")) add("cpu", "nothing: the time budget only");
  if (landlock_abi() < kLandlockAbiMin) add("landlock", "the mounts alone keep writing where it belongs");
  return out;
}

std::string_view degraded_advice(std::string_view mechanism) {
  if (mechanism == kOverlay)
    return "; keep .pawl on ext4, xfs, btrfs or tmpfs, in a container on a volume; as an ordinary user, "
           "Linux 5.11";
  if (mechanism == "landlock")
    return "; Debian: boot with lsm=landlock,lockdown,yama,integrity,apparmor; Ubuntu, Fedora: a kernel of "
           "5.19 "
           "or later has it; in a container the host's kernel decides";
  return "; delegate a cgroup (Debian, Ubuntu, Fedora: systemd-run --user --scope -p Delegate=yes pawl ...; "
         "in a "
         "container: a writable /sys/fs/cgroup)";
}

}  // namespace pawl::sandbox
