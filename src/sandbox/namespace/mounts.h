// The file system of the sandbox as data. plan_mounts() compiles a SandboxSpec to a list of operations; one
// loop in the child (assemble.h) applies them in order and names the operation that failed. Compiling is pure, and
// tests read the list.
#pragma once

#include <string>
#include <vector>

#include "sandbox/backend.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/quotas.h"

namespace pawl::sandbox {

// Paths inside a tmpfs that covers /tmp until pivot_root: the new root, and the trees of overlays.
inline constexpr char kNewRoot[] = "/tmp/root";
inline constexpr char kStage[] = "/tmp/stage";
inline constexpr char kEmptyFolder[] = "/tmp/stage/empty";  // an empty folder, which masks others

struct MountOp {
  enum class Kind {
    kTmpfs,         // text: options of mount(2)
    kFolder,        // mkdir
    kSharedFolder,  // mkdir, writable by all, sticky
    kFile,          // text: its content
    kSymlink,       // text: its target
    kBind,          // text: a path of this mount namespace, with the mounts below it
    kHost,          // text: a path of the host's base; skipped when it does not exist
    kAttach,        // source: index in MountPlan::sources; read_only
    kOverlay,       // text: options of mount(2)
    kProc,
    kDevpts,
    kQuota,          // text: a number, for a file of /proc/sys/user
    kMask,           // hides a file or folder of /proc, if it exists
    kCover,          // hides a folder of the host or the workspace, whatever its owner
    kReadOnly,       // the mount at target, without the mounts below it
    kCgroup,         // text: a folder of cgroups, shown read-only; needs the command to have joined it
    kCgroup2,        // cgroup v2, for a mount of its type only: a later mount covers it; skipped when refused
    kFileOver,       // text: a file of this mount namespace, shown read-only over that at target, if any
    kReadOnlyBelow,  // the mounts below the mount at target: also no devices and no setuid
  };
  Kind kind = Kind::kFolder;
  std::string target;
  std::string text;
  int source = -1;
  bool read_only = false;
};

// A tree of the host, cloned as a detached mount (open_tree(2)).
struct Source {
  // The owner that the files show when Pawl runs as root. kOwn: files of Pawl's user show as the sandbox
  // user's, by an idmapped mount. kGiven: the new folder itself is given to the sandbox user, without an
  // idmapped mount, which not every file system supports. kAsItIs: as on the host.
  enum class Owner { kOwn, kGiven, kAsItIs };
  std::string path;
  Owner owner = Owner::kOwn;
};

struct MountPlan {
  std::vector<Source> sources;
  std::vector<MountOp> ops;
};

// One copy_in of the spec on the host: the private copy for kReadWrite, a merged
// copy, or the host's own path.
struct CopiedIn {
  std::string path;
  std::vector<std::string> below = {};  // lower trees that an overlay shows below it
  bool is_folder = false;
};
// The folder of the host that is shown at inside::kLargeFiles. REQUIRES: folders.scratch is not empty.
std::string large_files_of(const Folders& folders);
// The folder of the host that is shown at inside::kHome; "" when HOME is in memory.
std::string home_of(const Folders& folders);

// Further parts of the host that the sandbox shows or hides.
struct OfHost {
  std::vector<std::string> covered;   // from covered_of_host()
  std::vector<std::string> in_lower;  // from covered_of_workspace()
  std::vector<CgroupView> cgroups;    // the sandbox's own; empty: files with the same limits stand for them
  std::string etc;                    // from etc_view()
  std::vector<NamespaceQuota> quotas = {};
};
MountPlan plan_mounts(const SandboxSpec& spec, const Folders& folders, const std::vector<CopiedIn>& copied_in,
                      const OfHost& of_host, bool copied);

// The paths among `paths` that the host's base would show, with links resolved.
std::vector<std::string> covered_of_host(const std::vector<std::string>& paths);

// The paths that lie below a tree of the workspace, as paths inside. REQUIRES: links are resolved.
std::vector<std::string> covered_of_workspace(const std::vector<std::string>& paths,
                                              const std::vector<std::string>& lower);

std::string to_text(const MountOp& op, const MountPlan& plan);  // one line, for tests and error messages

}  // namespace pawl::sandbox
