// The /etc of every sandbox, as a folder of copies that is made once and used until something of it changes
// on the host. One mount shows it, and what comes into the host's /etc later is not in it.
#pragma once

#include <string>

#include "base/error.h"

namespace pawl::sandbox {

// A folder to be shown at /etc, read-only: what EtcRules allow and everybody may read of `root`/etc, and the
// sandbox's own passwd, group, hosts and an empty resolv.conf. Everybody may read it. `cache` is a folder of
// this user, made when it is not there. A view is kept for longer than a sandbox can live.
Result<std::string> etc_view(const std::string& root, const std::string& cache);
// The same of the host, in a folder of this user below /var/tmp or /tmp.
Result<std::string> etc_view();

}  // namespace pawl::sandbox
