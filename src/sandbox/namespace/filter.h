// The seccomp filters of a sandbox: src/sandbox/namespace/filter/syscalls.txt, compiled when Pawl is built.
#pragma once

#include <string>

namespace pawl::sandbox {

// Of the calling process and all it starts, for ever. REQUIRES: no_new_privs. False with errno.
bool install_filter();
// The same with the list that asks for exec, connect and what is denied. The listener (seccomp_unotify(2)),
// -1 with errno.
int install_traced_filter();

// The name of a call that is denied, always or by its arguments, else its number.
std::string denied_call_name(int number);
// What such a call fails with, whether a trace is made or not.
int denied_call_error(int number);

}  // namespace pawl::sandbox
