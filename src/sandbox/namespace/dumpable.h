// Makes a process dumpable while it starts a sandbox, if other processes must not inspect it
// (os::refuse_to_be_looked_into).
//
// A child inherits dumpability, and /proc/<child> belongs to root without it: an ordinary user could not
// write the child's id maps. Root needs dumpability only to open a namespace of the child without CAP_SYS_PTRACE.
#pragma once

#include <sys/prctl.h>

namespace pawl::sandbox {

// Has no effect in a process that is already dumpable, such as one whose threads start several sandboxes.
class Dumpable {
 public:
  Dumpable() : before_(prctl(PR_GET_DUMPABLE)) {
    if (before_ != 1) prctl(PR_SET_DUMPABLE, 1);
  }
  ~Dumpable() {
    if (before_ != 1) prctl(PR_SET_DUMPABLE, 0);
  }
  void stay() { before_ = 1; }  // in the child, which decides for itself
  Dumpable(const Dumpable&) = delete;
  Dumpable& operator=(const Dumpable&) = delete;

 private:
  int before_;
};

}  // namespace pawl::sandbox
