// The variables (`env`), files and folders (`mounts`) of the host that every step of a plan gets. Reads the
// host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gates/gates.h"
#include "plan/plan.h"
#include "sandbox/spec.h"

namespace pawl::executor {

// The path with the home of the user who runs Pawl in place of ~. kInvalid: there is none.
Result<std::string> with_home(const std::string& path);

// The mounts that no step can have on this host: the source is absent or may not be shown (sandbox/shown.h),
// or the place inside belongs to Pawl, to the system or to another mount.
std::vector<plan::Finding> bad_mounts(const plan::Common& plan);

// The mounts without their content. A mount that no step can have is left out.
std::vector<sandbox::CopyIn> mounts_without_content(const plan::Common& plan);
// The folders that PATH of every step has for a mount: `first` stand before those of the system, `last` behind them.
// First come the folder `bin` of the mount, the mount itself when it is called `bin`, and the folder of a mount that is a
// program. The folder .bin of packages of npm comes last, because it has programs that no user chose.
struct Bins {
  std::vector<std::string> first, last;
};
Bins bins_of_mount(const sandbox::CopyIn& mount);

// Adds these folders to PATH.
void add_bins(const std::vector<sandbox::CopyIn>& mounts, std::vector<std::string>& env);

struct FromHost {
  std::vector<std::string> env;         // "NAME=value"; PATH begins with the folders `bin` of the mounts
  std::vector<sandbox::CopyIn> mounts;  // in the order of the plan
};
// Reads the host as it is now. A mount's `content` names all that lies there (sandbox/shown_content.h). The files of
// all mounts may have 64 MiB. Errors: the error of the first bad mount.
Result<FromHost> from_host(const plan::Common& plan);
// CopyIn::content by dst.
sandbox::Mounts contents_of(const std::vector<sandbox::CopyIn>& mounts);

// The mounts that a step saw.
struct SeenMounts {
  std::string attempt_id;
  sandbox::Mounts mounts;
};
// The signal that mounts changed; it always passes. `seen` has the mounts of each step of one attempt. No value: all
// are equal, also to the mounts of the last step before the attempt.
std::optional<gates::Signal> mounts_signal(const std::vector<sandbox::Mounts>& seen,
                                           const std::optional<SeenMounts>& before);

}  // namespace pawl::executor
