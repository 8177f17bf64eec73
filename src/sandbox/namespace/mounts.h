// What the sandbox's file system is made of, as data: a SandboxSpec compiles to a list of operations, one
// loop in the child applies them in order and names the one that failed. Compiling is pure; tests read the
// list.
#pragma once

#include <string>
#include <vector>

#include "sandbox/backend.h"
#include "sandbox/namespace/cgroup.h"
#include "sandbox/namespace/quotas.h"

namespace pawl::sandbox {

// Inside, in a tmpfs that covers /tmp until pivot_root: the new root, and the trees an overlay is made of.
inline constexpr char kNewRoot[] = "/tmp/root";
inline constexpr char kStage[] = "/tmp/stage";
inline constexpr char kNothing[] = "/tmp/stage/nothing";  // an empty folder, which masks others

struct MountOp {
  enum class Kind {
    kTmpfs,         // options: as mount(2) takes them
    kFolder,        // mkdir
    kSharedFolder,  // mkdir, writable by all, sticky
    kFile,          // text: content
    kSymlink,       // text: where it leads
    kBind,          // text: a path of this very mount namespace, with what is mounted below it
    kHost,          // text: a path of the host's base, left out when it is not there
    kAttach,        // source: index in MountPlan::sources; read_only
    kOverlay,       // options
    kProc,
    kDevpts,
    kQuota,          // text: a number, for a file of /proc/sys/user
    kMask,           // hides a file or folder of /proc with nothing, when it is there
    kCover,          // hides a folder of the host's base with an empty one, whoever it belongs to
    kReadOnly,       // the mount at target, without those below it
    kCgroup,         // text: a folder of cgroups, shown read-only. Only once the command has joined it
    kReadOnlyBelow,  // the mounts below the one at target: no devices and no setuid either
  };
  Kind kind = Kind::kFolder;
  std::string target;
  std::string text;
  int source = -1;
  bool read_only = false;
};

// A tree of the host, cloned as a detached mount (open_tree(2)).
struct Source {
  // As whose the files show when Pawl runs as root. kOwn: what is its user's shows as the sandbox's, by an
  // idmapped mount. kGiven: the same without one, which not every file system has: the folder, which is new,
  // is the sandbox user's from now on. kAsItIs: as on the host.
  enum class Owner { kOwn, kGiven, kAsItIs };
  std::string path;
  Owner owner = Owner::kOwn;
};

struct MountPlan {
  std::vector<Source> sources;
  std::vector<MountOp> ops;
};

// `rw_copies`: for each copy_in with kReadWrite, in order, the folder or file of the host that is its private
// copy. `copied`: folders.upper is the whole workspace, no overlay.
struct CopiedIn {
  std::string path;
  std::vector<std::string> below = {};  // trees that an overlay shows below it
  bool is_folder = false;
};
// Where large temporary files lie inside; and the folder of the host that is shown there. REQUIRES: there is
// a folders.scratch.
inline constexpr char kLargeFiles[] = "/var/tmp";
std::string large_files_of(const Folders& folders);

// What else it shows of the host, or does not.
struct OfHost {
  std::vector<std::string> covered;   // as covered_of_host() gives it
  std::vector<std::string> in_lower;  // as covered_of_workspace() gives it
  std::vector<CgroupView> cgroups;    // the sandbox's own
  std::string etc;                    // as etc_view() gives it
  std::vector<NamespaceQuota> quotas = {};
};
MountPlan plan_mounts(const SandboxSpec& spec, const Folders& folders, const std::vector<CopiedIn>& copied_in,
                      const OfHost& of_host, bool copied);

// Of these paths of the host those that the host's base would show, without links.
std::vector<std::string> covered_of_host(const std::vector<std::string>& paths);

// Those that lie below a tree of the workspace, as paths inside.
std::vector<std::string> covered_of_workspace(const std::vector<std::string>& paths,
                                              const std::vector<std::string>& lower);

std::string to_text(const MountOp& op, const MountPlan& plan);  // one line, for tests and error messages

}  // namespace pawl::sandbox
