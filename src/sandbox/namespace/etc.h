// The /etc of every sandbox: a folder of copies that is made once and used until a part of it changes on the
// host. One mount shows it. Files that appear in the host's /etc later are not in it.
#pragma once

#include <string>

#include "os/file.h"

namespace pawl::sandbox {

// A folder to show read-only at /etc: the files of `root`/etc that EtcRules allow and every user may read,
// and the sandbox's own passwd, group, hosts and an empty resolv.conf. Every user may read it. It stays for
// as long as a process holds it, and other callers get the same view until the host's /etc changes.
struct EtcView {
  std::string path;
  os::FileLock held;
};
// `cache` is a folder of this user; it is made when it does not exist. kDenied: the folder belongs to another
// user, or others may write to it.
Result<EtcView> etc_view(const std::string& root, const std::string& cache);
// The same for the host's /etc, in a folder of this user below /run, /var/tmp or /tmp.
Result<EtcView> etc_view();
// Removes views that no process holds, except the newest view.
void sweep_etc_views();

}  // namespace pawl::sandbox
