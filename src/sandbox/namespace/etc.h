// The /etc of every sandbox, as a folder of copies that is made once and used until something of it changes
// on the host. One mount shows it, and what comes into the host's /etc later is not in it.
#pragma once

#include <string>

#include "os/file.h"

namespace pawl::sandbox {

// A folder to be shown at /etc, read-only: what EtcRules allow and everybody may read of `root`/etc, and the
// sandbox's own passwd, group, hosts and an empty resolv.conf. Everybody may read it. It stays for as long as
// somebody holds it, and is the one for others until the host's changes.
struct EtcView {
  std::string path;
  os::FileLock held;
};
// `cache` is a folder of this user, made when it is not there.
Result<EtcView> etc_view(const std::string& root, const std::string& cache);
// The same of the host, in a folder of this user below /run, /var/tmp or /tmp.
Result<EtcView> etc_view();
// Removes views that nobody holds, but for the newest.
void sweep_etc_views();

}  // namespace pawl::sandbox
