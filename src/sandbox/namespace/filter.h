// The seccomp filters of a sandbox: src/sandbox/namespace/filter/syscalls.txt, compiled when Pawl is built.
#pragma once

#include <linux/seccomp.h>

#include <string>

namespace pawl::sandbox {

// Of the calling process and all it starts, for ever. REQUIRES: no_new_privs. False with errno.
bool install_filter();
// The same with a list that asks: for renames, or for these, exec, connect and what is denied. The listener
// (seccomp_unotify(2)), -1 with errno.
enum class Asks { kRenames, kAll };
int install_asking_filter(Asks asks);

// The name of a call that is denied, always or by its arguments, else its number.
std::string denied_call_name(int number);
// What such a call fails with, whether a trace is made or not.
int denied_call_error(const seccomp_data& asked);

}  // namespace pawl::sandbox
