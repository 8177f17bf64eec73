#include "sandbox/namespace/mounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "os/file.h"
#include "sandbox/inside.h"

namespace pawl::sandbox {
namespace {

using Kind = MountOp::Kind;

// The part of the host that every sandbox sees: an allowlist, not / without a few folders.
// /etc is the view of etc.h.
constexpr std::array kHostBase = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
};

// Data of packages that their programs read below /var: dpkg-shlibdeps and dpkg-query, aspell and ispell,
// GHC, TeX, gem, PHP, XML and SGML tools, fontconfig. None of it belongs to a service or a user.
constexpr std::array kPackageData = {
    "/var/cache/dictionaries-common",
    "/var/cache/fontconfig",
    "/var/lib/aspell",
    "/var/lib/dictionaries-common",
    "/var/lib/dpkg",
    "/var/lib/gems",
    "/var/lib/ghc",
    "/var/lib/hunspell",
    "/var/lib/ispell",
    "/var/lib/php/modules",
    "/var/lib/sgml-base",
    "/var/lib/texmf",
    "/var/lib/xml-core",
};

// Files of /proc that show facts about the kernel or let their owner change it (proc(5)). runc masks the same
// files, except those about the host's start and interrupts, which it shows.
constexpr std::array kMasked = {
    "cmdline", "softirqs", "acpi", "asound", "bus", "fs", "interrupts", "irq", "kallsyms", "kcore", "keys",
    "kmsg", "kpagecount", "kpageflags", "latency_stats", "sched_debug", "scsi", "sysrq-trigger", "timer_list",
    "timer_stats",
    // How the kernel was built and started, its modules, the host's disks and their use by other processes.
    "bootconfig", "config.gz", "diskstats", "driver", "iomem", "ioports", "key-users", "locks", "mdstat",
    "modules", "mtrr", "partitions", "swaps"};

// /proc/cgroups of a machine with cgroup v2 alone. OpenJDK reads the files of v2 when no controller has a
// hierarchy of v1 (cgroupSubsystem_linux.cpp), and takes no limit from a folder without a mount of cgroup2.
constexpr char kCgroupsOfProc[] =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
    "cpuset\t0\t1\t1\ncpu\t0\t1\t1\ncpuacct\t0\t1\t1\nmemory\t0\t1\t1\npids\t0\t1\t1\n";
constexpr char kNoSoftLimit[] = "9223372036854771712";  // cgroup v1's value, with pages of 4 KiB

constexpr std::size_t kUsualOps = 160;  // moving the operations repeatedly takes longer than making them
constexpr std::int64_t kFilesMin = 16'384, kFilesOfMib = 1024;
constexpr std::int64_t kOwnMib = 1;  // for the root's own files, which do not count as the program's

class Builder {
 public:
  explicit Builder(MountPlan& plan) : plan_(plan) {}

  void add(Kind kind, std::string target, std::string text = {}) {
    plan_.ops.push_back({.kind = kind, .target = std::move(target), .text = std::move(text)});
  }
  void attach(std::string source, std::string target, bool read_only,
              Source::Owner owner = Source::Owner::kOwn) {
    plan_.sources.push_back({.path = std::move(source), .owner = owner});
    plan_.ops.push_back({.kind = Kind::kAttach,
                         .target = std::move(target),
                         .source = static_cast<int>(plan_.sources.size()) - 1,
                         .read_only = read_only});
  }
  // Makes the folders that lead to `path` inside the new root.
  void parents(const std::string& path) {
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
      add(Kind::kFolder, root(path.substr(0, slash)));
  }
  static std::string root(std::string_view path) { return std::string(kNewRoot) + std::string(path); }
  static std::string stage(std::string_view name) { return std::string(kStage) + "/" + std::string(name); }

 private:
  MountPlan& plan_;
};

void plan_host(Builder& to) {
  for (const char* path : kHostBase) to.add(Kind::kHost, Builder::root(path), path);
  for (const std::string path : kPackageData) {
    to.parents(path);
    to.add(Kind::kHost, Builder::root(path), path);
  }
  to.add(Kind::kReadOnlyBelow, kNewRoot);
  to.add(Kind::kFolder, Builder::root("/etc"));
}

void plan_etc(Builder& to, const std::string& view, bool has_network) {
  to.attach(view, Builder::root("/etc"), true, Source::Owner::kAsItIs);
  if (!has_network) return;
  const std::string resolver = Builder::stage("resolv.conf");
  to.add(Kind::kFile, resolver, std::string(inside::kResolvConf));
  to.add(Kind::kBind, Builder::root("/etc/resolv.conf"), resolver);
  to.add(Kind::kReadOnly, Builder::root("/etc/resolv.conf"));
}

// tty stands for the terminal of the process that opens it. The session of the sandbox has no terminal
// (ENXIO) until a program inside makes one of its own.
void plan_devices(Builder& to) {
  to.add(Kind::kFolder, Builder::root("/dev"));
  for (const std::string device : {"null", "zero", "full", "random", "urandom", "tty"}) {
    to.add(Kind::kFile, Builder::root("/dev/" + device));
    to.add(Kind::kBind, Builder::root("/dev/" + device), "/dev/" + device);
  }
  to.add(Kind::kSymlink, Builder::root("/dev/fd"), "/proc/self/fd");
  to.add(Kind::kSymlink, Builder::root("/dev/stdin"), "/proc/self/fd/0");
  to.add(Kind::kSymlink, Builder::root("/dev/stdout"), "/proc/self/fd/1");
  to.add(Kind::kSymlink, Builder::root("/dev/stderr"), "/proc/self/fd/2");
  to.add(Kind::kFolder, Builder::root("/dev/pts"));
  to.add(Kind::kDevpts, Builder::root("/dev/pts"));
  to.add(Kind::kSymlink, Builder::root("/dev/ptmx"), "pts/ptmx");
}

// Large temporary files get a place that is not in memory.
void plan_large_files(Builder& to, const Folders& folders) {
  const std::string at = Builder::root(inside::kLargeFiles);
  if (folders.scratch.empty()) return to.add(Kind::kSymlink, at, inside::kTemporary);
  to.add(Kind::kFolder, at);
  to.attach(large_files_of(folders), at, false, Source::Owner::kGiven);
}

void plan_home(Builder& to, const Folders& folders, const std::string& memory) {
  const std::string at = Builder::root(inside::kHome), home = home_of(folders);
  to.parents(inside::kHome);
  to.add(Kind::kFolder, at);
  if (!home.empty()) return to.attach(home, at, false, Source::Owner::kGiven);
  to.add(Kind::kFolder, memory + "/home");
  to.add(Kind::kBind, at, memory + "/home");
}

void plan_cgroup(Builder& to, const CgroupView& cgroup) {
  to.parents(cgroup.target);
  to.add(Kind::kFolder, Builder::root(cgroup.target));
  for (const auto& link : cgroup.links) to.add(Kind::kSymlink, Builder::root(link), cgroup.target);
}

// Without cgroups Pawl itself enforces the limits of memory and processes. Programs find them in the files
// that a cgroup would have. libuv (Node) requires memory.high, too. Where the machine has v1, libuv reads
// v1's files.
void plan_limit_files(Builder& to, const SandboxSpec& spec) {
  const std::string bytes = std::to_string(spec.memory_limit_mib << 20);
  const std::string at = Builder::root(kCgroupRoot), files = Builder::stage("cgroup");
  to.add(Kind::kFolder, files);
  to.add(Kind::kFolder, files + "/memory");
  const std::array<std::pair<const char*, std::string>, 6> limits = {
      {{"/cgroup.controllers", "memory pids"},
       {"/memory.max", bytes},
       {"/memory.high", "max"},
       {"/pids.max", std::to_string(spec.pids_limit)},
       {"/memory/memory.limit_in_bytes", bytes},
       {"/memory/memory.soft_limit_in_bytes", kNoSoftLimit}}};
  for (const auto& [name, limit] : limits) to.add(Kind::kFile, files + name, limit + "\n");
  to.parents(kCgroupRoot);
  to.add(Kind::kFolder, at);
  to.add(Kind::kCgroup2, at);
  to.add(Kind::kBind, at, files);
  to.add(Kind::kReadOnly, at);
  const std::string table = Builder::stage("cgroups");
  to.add(Kind::kFile, table, kCgroupsOfProc);
  to.add(Kind::kFileOver, Builder::root("/proc/cgroups"), table);
}

// Attaches the trees, topmost first, and returns them in the form of overlayfs's lowerdir.
std::string plan_lower(Builder& to, const std::vector<std::string>& trees, const std::string& name) {
  std::string lower;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const std::string at = Builder::stage(name + std::to_string(i));
    to.add(Kind::kFolder, at);
    to.attach(trees[i], at, true);
    lower += (lower.empty() ? "" : ":") + at;
  }
  return lower;
}

void plan_copy_in(Builder& to, const CopyIn& item, const CopiedIn& copied, const std::string& name) {
  to.parents(item.dst);
  to.add(copied.is_folder ? Kind::kFolder : Kind::kFile, Builder::root(item.dst));
  if (copied.below.empty())
    return to.attach(copied.path, Builder::root(item.dst), item.access == Access::kReadOnly);
  std::vector<std::string> trees{copied.path};
  trees.insert(trees.end(), copied.below.begin(), copied.below.end());
  to.add(Kind::kOverlay, Builder::root(item.dst),
         fmt::format("lowerdir={},userxattr", plan_lower(to, trees, name)));
}

// git would follow `info/alternates` to paths of the host, and complain of each in every command.
void plan_git_objects(Builder& to, const std::vector<std::string>& folders) {
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string at = inside::kGitObjects + ("/" + std::to_string(i));
    to.parents(at);
    to.add(Kind::kFolder, Builder::root(at));
    to.attach(folders[i], Builder::root(at), true);
    to.add(Kind::kCover, Builder::root(at + "/info"));
  }
}

void plan_workspace(Builder& to, const Folders& folders, bool copied) {
  const std::string workspace = Builder::root(inside::kWorkspace);
  to.add(Kind::kFolder, workspace);
  if (folders.in_memory) return;
  const bool read_only = folders.upper.empty();
  if (read_only && folders.lower.empty()) return;
  if (copied || folders.lower.empty()) return to.attach(folders.upper, workspace, false);
  if (read_only && folders.lower.size() == 1) return to.attach(folders.lower.front(), workspace, true);
  const std::string lower = plan_lower(to, folders.lower, "l");
  if (read_only) return to.add(Kind::kOverlay, workspace, fmt::format("lowerdir={},userxattr", lower));
  // overlayfs requires upper and work below one mount.
  to.add(Kind::kFolder, Builder::stage("rw"));
  to.attach(os::folder_of(folders.upper), Builder::stage("rw"), false);
  const auto name_of = [](const std::string& path) { return path.substr(path.rfind('/')); };
  // volatile (Linux 5.10): unmounting does not sync the whole file system below. Stored files are synced when
  // they become a layer, and this upper is never mounted again.
  to.add(Kind::kOverlay, workspace,
         fmt::format("lowerdir={},upperdir={},workdir={},userxattr,volatile", lower,
                     Builder::stage("rw") + name_of(folders.upper),
                     Builder::stage("rw") + name_of(folders.work)));
}

// Whether the folder is the system's own, which programs need: the home of daemon is /usr/sbin.
bool is_of_system(const std::string& path) {
  return std::ranges::any_of(kHostBase, [&](const std::string& base) {  // /bin is a link to /usr/bin today
    return path == base || path == "/usr" + base;
  });
}

}  // namespace

std::string large_files_of(const Folders& folders) { return os::join(folders.scratch, "tmp"); }

std::string home_of(const Folders& folders) {
  const bool is_own = folders.home.empty() && !folders.scratch.empty();
  return is_own ? os::join(folders.scratch, "home") : folders.home;
}

std::vector<std::string> covered_of_host(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    const auto real = os::absolute_path(path);
    if (!real || is_of_system(*real)) continue;
    const auto lies_in = [&](const std::string& base) { return real->starts_with(base + "/"); };
    const bool is_shown =
        std::ranges::any_of(kHostBase, lies_in) || std::ranges::any_of(kPackageData, lies_in);
    if (is_shown) out.push_back(*real);
  }
  return out;
}

std::vector<std::string> covered_of_workspace(const std::vector<std::string>& paths,
                                              const std::vector<std::string>& lower) {
  std::vector<std::string> out;
  for (const auto& path : paths)
    for (const auto& tree : lower)
      if (path.starts_with(tree + "/")) out.push_back(inside::kWorkspace + path.substr(tree.size()));
  return out;
}

MountPlan plan_mounts(const SandboxSpec& spec, const Folders& folders, const std::vector<CopiedIn>& copied_in,
                      const OfHost& of_host, bool copied) {
  MountPlan plan;
  plan.ops.reserve(kUsualOps);
  Builder to(plan);
  // One file system for the root's own folders and for the folders in memory, so that files there count as
  // memory. It is full at half of the memory limit, an error that programs see. Nearer to the limit the
  // kernel would kill the programs, because they and the page tables need memory, too.
  const std::int64_t mib = std::min(spec.disk_limit_mib, (spec.memory_limit_mib + 1) / 2) + kOwnMib;
  // Files without content are memory, too: about 1 KiB each, for the inode and its name. They get a quarter
  // of the limit, so that programs have the last quarter even when both are full.
  const std::int64_t files = std::max(kFilesMin, spec.memory_limit_mib * kFilesOfMib / 4);
  to.add(Kind::kTmpfs, "/tmp", fmt::format("mode=755,size={}m,nr_inodes={}", mib, files));
  to.add(Kind::kFolder, kNewRoot);
  to.add(Kind::kFolder, kStage);
  to.add(Kind::kBind, kNewRoot, kNewRoot);  // pivot_root(2) requires a mount
  plan_host(to);
  plan_devices(to);
  const std::string memory = Builder::stage("memory");
  to.add(Kind::kFolder, memory);
  for (const std::string folder :
       {inside::kTemporary, inside::kSharedMemory, inside::kRun, inside::kWorkspace}) {
    if (folder == inside::kWorkspace && !folders.in_memory) continue;
    const std::string source = memory + folder.substr(folder.rfind('/'));
    to.add(Kind::kSharedFolder, source);
    to.add(Kind::kFolder, Builder::root(folder));
    to.add(Kind::kBind, Builder::root(folder), source);
  }
  to.add(Kind::kFolder, Builder::root("/var"));
  plan_large_files(to, folders);
  plan_home(to, folders, memory);
  to.add(Kind::kFolder, Builder::root("/proc"));
  to.add(Kind::kProc, Builder::root("/proc"));
  to.add(Kind::kFolder, kEmptyFolder);
  for (const std::string masked : kMasked) to.add(Kind::kMask, Builder::root("/proc/" + masked));
  for (const auto& path : of_host.covered) to.add(Kind::kCover, Builder::root(path));
  plan_workspace(to, folders, copied);
  for (const auto& path : of_host.in_lower) to.add(Kind::kCover, Builder::root(path));
  plan_git_objects(to, spec.workspace.git_objects);
  plan_etc(to, of_host.etc, spec.network == Network::kScoped);
  for (const auto& cgroup : of_host.cgroups) plan_cgroup(to, cgroup);
  if (of_host.cgroups.empty()) plan_limit_files(to, spec);
  for (std::size_t i = 0; i < spec.copy_in.size(); ++i)
    plan_copy_in(to, spec.copy_in[i], copied_in[i], "in" + std::to_string(i) + "-");
  for (const auto& quota : of_host.quotas)
    to.add(Kind::kQuota, Builder::root("/proc/sys/user/" + quota.file), std::to_string(quota.most));
  to.add(Kind::kReadOnly, Builder::root("/proc/sys"));
  to.add(Kind::kReadOnly, kNewRoot);
  for (const auto& cgroup : of_host.cgroups)
    to.add(Kind::kCgroup, Builder::root(cgroup.target), cgroup.folder);
  return plan;
}

std::string to_text(const MountOp& op, const MountPlan& plan) {
  switch (op.kind) {
    case Kind::kTmpfs:
      return "tmpfs " + op.target + " " + op.text;
    case Kind::kFolder:
      return "mkdir " + op.target;
    case Kind::kFile:
      return "file " + op.target;
    case Kind::kSymlink:
      return "symlink " + op.target + " -> " + op.text;
    case Kind::kSharedFolder:
      return "mkdir " + op.target + " for all";
    case Kind::kBind:
      return "bind " + op.target + " " + op.text;
    case Kind::kHost:
      return "host " + op.target;
    case Kind::kAttach:
      return fmt::format("attach {} at {}{}", plan.sources[static_cast<std::size_t>(op.source)].path,
                         op.target, op.read_only ? " read-only" : "");
    case Kind::kOverlay:
      return "overlay " + op.target + " " + op.text;
    case Kind::kProc:
      return "proc " + op.target;
    case Kind::kDevpts:
      return "devpts " + op.target;
    case Kind::kQuota:
      return "quota " + op.target + " " + op.text;
    case Kind::kMask:
      return "mask " + op.target;
    case Kind::kCover:
      return "cover " + op.target;
    case Kind::kReadOnly:
      return "read-only " + op.target;
    case Kind::kCgroup:
      return "cgroup " + op.target + " " + op.text;
    case Kind::kCgroup2:
      return "cgroup2 " + op.target;
    case Kind::kFileOver:
      return "file over " + op.target + " " + op.text;
    case Kind::kReadOnlyBelow:
      return "read-only below " + op.target;
  }
  return {};
}

}  // namespace pawl::sandbox
