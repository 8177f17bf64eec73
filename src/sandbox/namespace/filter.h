// The seccomp filters of a sandbox: filter/syscalls.txt, compiled when Pawl is built.
#pragma once

#include <linux/seccomp.h>

#include <string>

namespace pawl::sandbox {

// Installs the filter in the calling process and its descendants, for ever. REQUIRES:
// no_new_privs. False with errno.
bool install_filter();
// The same, with a filter that asks a listener. kRenames: about renames. kAll: about renames, exec, connect,
// the end of a thread and denied calls. Returns the listener (seccomp_unotify(2)); -1 with errno.
enum class Asks { kRenames, kAll };
int install_asking_filter(Asks asks);

// The name of a call that is denied, always or by its arguments; the number of any other call.
std::string denied_call_name(int number);
// The errno of a denied call, the same with and without a trace.
int denied_call_error(const seccomp_data& asked);

}  // namespace pawl::sandbox
