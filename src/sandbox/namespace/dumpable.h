// The moment in which a process that nobody may look into (os::refuse_to_be_looked_into) starts a sandbox.
//
// A child has its parent's dumpability, and /proc/<child> belongs to root when it has none: an ordinary user
// could not write its id maps. As root nothing needs this but a namespace's descriptor without
// CAP_SYS_PTRACE.
#pragma once

#include <sys/prctl.h>

namespace pawl::sandbox {

// Nothing in a process that is dumpable anyway, as one with several threads that start sandboxes is.
class Dumpable {
 public:
  Dumpable() : before_(prctl(PR_GET_DUMPABLE)) {
    if (before_ != 1) prctl(PR_SET_DUMPABLE, 1);
  }
  ~Dumpable() {
    if (before_ != 1) prctl(PR_SET_DUMPABLE, 0);
  }
  void stay() { before_ = 1; }  // in the child, whose own affair it is
  Dumpable(const Dumpable&) = delete;
  Dumpable& operator=(const Dumpable&) = delete;

 private:
  int before_;
};

}  // namespace pawl::sandbox
