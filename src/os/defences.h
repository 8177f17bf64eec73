// Isolation mechanisms and checks that a test can switch off, one at a time, to show that it is the one that
// stops an attack.
//
// Only builds with PAWL_TEST_HOOKS read PAWL_WALLS_OFF, a list of names separated by spaces. In a release
// build all of them are active.
#pragma once

#ifdef PAWL_TEST_HOOKS
#include <string>
#include <string_view>

#include "os/process.h"
#endif

namespace pawl::os {

// Read before the processes of a sandbox start, because these must not allocate memory.
struct Defences {
  bool seccomp = true, landlock = true, read_only = true, masks = true, session = true, descriptors = true;
  bool init = true;          // the sandbox's init cannot be traced by the processes that it started
  bool supervisor = true;    // the supervisor cannot be inspected by processes of the same user
  bool limits = true;        // the rlimits that no option sets: core dumps, open files
  bool quotas = true;        // a sandbox gets a part only of the kernel's limits per user
  bool copy_out = true;      // files that a sandbox left are checked before they are stored
  bool beneath = true;       // and their paths are resolved below their root only
  bool environment = true;   // only named environment variables are passed
  bool lid = true;           // protected paths are restored between the steps of a gate
  bool caches = true;        // bytecode and caches of tools are left out of the work
  bool times = true;         // the agent's file times are replaced
  bool spellings = true;     // secrets are also found in other spellings
  bool guarded = true;       // and after names like `password`
  bool redact_first = true;  // a report is redacted before it is cut
  bool plan_folder = true;   // /plan has only permitted files, and agents see fewer of them than gates
  bool objects = true;       // bases and layers must match their ids, and caches must have the folder's seal
  bool spool = true;         // what a supervisor left of a step must have the step's seal
  bool signer = true;        // the ledger is verified, and tables compared with it, before a head is signed
  bool agreement = true;     // valid rows are compared with each other
  bool costs = true;         // and cost rows with the recorded ends of steps
  bool state_folder = true;  // a folder that other users may have made or changed is refused
  bool bounds = true;        // output of a sandbox is read up to the bounds of docs/security.md
  bool memory = true;        // without memory to read it, evidence counts as missing
  bool special = true;       // an allowed name leads to public addresses only
  bool opening = true;       // the first bytes of a connection must name the allowed host
  // The namespaces, each by itself. Without `pid`, processes that a step leaves live on.
  bool pid = true, net = true, ipc = true, uts = true;
  bool user = true;                  // run by root: a user that owns no file outside, not root
  bool host = true;                  // only listed parts of the host's base are visible
  bool old_root = true;              // the host's root is unmounted
  bool proc = true, devices = true;  // the sandbox's own, not the host's
};

#ifdef PAWL_TEST_HOOKS
inline Defences defences() {
  const std::string off = " " + environment_value("PAWL_WALLS_OFF").value_or("") + " ";
  const auto up = [&](std::string_view wall) { return off.find(" " + std::string(wall) + " ") == off.npos; };
  return {.seccomp = up("seccomp"),
          .landlock = up("landlock"),
          .read_only = up("read_only"),
          .masks = up("masks"),
          .session = up("session"),
          .descriptors = up("descriptors"),
          .init = up("init"),
          .supervisor = up("supervisor"),
          .limits = up("limits"),
          .quotas = up("quotas"),
          .copy_out = up("copy_out"),
          .beneath = up("beneath"),
          .environment = up("environment"),
          .lid = up("lid"),
          .caches = up("caches"),
          .times = up("times"),
          .spellings = up("spellings"),
          .guarded = up("guarded"),
          .redact_first = up("redact_first"),
          .plan_folder = up("plan_folder"),
          .objects = up("objects"),
          .spool = up("spool"),
          .signer = up("signer"),
          .agreement = up("agreement"),
          .costs = up("costs"),
          .state_folder = up("state_folder"),
          .bounds = up("bounds"),
          .memory = up("memory"),
          .special = up("special"),
          .opening = up("opening"),
          .pid = up("pid"),
          .net = up("net"),
          .ipc = up("ipc"),
          .uts = up("uts"),
          .user = up("user"),
          .host = up("host"),
          .old_root = up("old_root"),
          .proc = up("proc"),
          .devices = up("devices")};
}
#else
constexpr Defences defences() { return {}; }
#endif

}  // namespace pawl::os
