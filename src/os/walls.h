// Walls that a test can leave out, one at a time, to show that it is this wall that stops an attack.
//
// Only builds with PAWL_TEST_HOOKS look: PAWL_WALLS_OFF is a list of names with spaces between. In a release
// build every wall is up.
#pragma once

#ifdef PAWL_TEST_HOOKS
#include <string>
#include <string_view>

#include "os/process.h"
#endif

namespace pawl::os {

// Decided before the sandbox's processes start, because they must not allocate.
struct Walls {
  bool seccomp = true, landlock = true, read_only = true, masks = true, session = true, descriptors = true;
  bool init = true;          // not to be traced by what it started
  bool supervisor = true;    // not to be looked into by who has its user
  bool limits = true;        // the rlimits that no option sets: core dumps, open files
  bool quotas = true;        // a part only of what the kernel counts by user
  bool copy_out = true;      // what a sandbox left is looked at before it is kept
  bool beneath = true;       // and read by ways that lead nowhere but below its root
  bool environment = true;   // variables pass by name
  bool lid = true;           // protected paths are put back between the steps of a gate
  bool caches = true;        // bytecode and caches of tools are not taken
  bool times = true;         // of what an agent left are not the agent's
  bool spellings = true;     // secrets are looked for in other spellings, too
  bool guarded = true;       // and behind names like `password`
  bool redact_first = true;  // what a report says has no secrets before it is cut
  bool plan_folder = true;   // /plan has what it may have, and agents see less of it than gates
  bool objects = true;    // bases and layers are compared with their ids, and caches have the folder's seal
  bool signer = true;     // the ledger is checked, and tables are compared with it, before a head is signed
  bool agreement = true;  // rows that are whole are compared with each other
  bool costs = true;      // and cost rows with what the ends of steps name
  bool state_folder = true;  // one that others may have made or changed is refused
  bool bounds = true;        // what comes out of a sandbox is read up to the bounds of docs/security.md
  bool memory = true;        // where no memory is left, evidence is missing
  bool special = true;       // an allowed name leads to public addresses
  bool opening = true;       // the first bytes of a connection must name the host that was allowed
  // The namespaces, each by itself. Without `pid` what a step leaves lives on.
  bool pid = true, net = true, ipc = true, uts = true;
  bool user = true;                  // as root: a user outside that owns nothing, not root
  bool host = true;                  // of the host's base only what is listed
  bool old_root = true;              // the host's root is taken off
  bool proc = true, devices = true;  // of the sandbox's own, not the host's
};

#ifdef PAWL_TEST_HOOKS
inline Walls walls() {
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
constexpr Walls walls() { return {}; }
#endif

}  // namespace pawl::os
