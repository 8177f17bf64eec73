// The agent programs of this host: their profiles, places and versions, and whether a login is there. Reads the host.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/programs.h"
#include "plan/profile.h"

namespace pawl::executor {

// A user's own profile: XDG_CONFIG_HOME/pawl/agents/NAME.yaml, else ~/.config/pawl/agents/NAME.yaml. No value:
// there is none. kExhausted: larger than a profile may be.
Result<std::optional<plan::ProfileText>> own_profile(const std::string& name);

// The first of the profile's keys that this process has as a usable credential; "": none.
std::string key_here(const plan::Profile& profile);
// The files of a login that this user has, as "~/..."; never read. No step sees them.
std::vector<std::string> logins_of(const plan::Profile& profile);

struct AgentProgram {
  std::string name;                      // the profile's
  std::string own_file;                  // the file with a user's own profile; "": compiled in
  std::vector<plan::Problem> problems;   // why the profile can't be used
  std::optional<plan::Profile> profile;  // present exactly when `problems` is empty
  ProgramPlace place;
  std::string version;              // as it says itself; "": not known
  std::string key;                  // key_here() of its profile
  std::vector<std::string> logins;  // logins_of() its profile
};

// How many programs are asked for their version, and how many have been. Another thread may read it.
struct AskedPrograms {
  std::atomic<std::size_t> all = 0, done = 0;
};
// All profiles, sorted by name: the user's profiles, and the compiled-in profiles that no user's profile replaces. A
// program that is found runs once with --version, in a sandbox without network that shows the same files as a step.
// `source` as for find_programs().
std::vector<AgentProgram> agent_programs(const std::string& source, AskedPrograms& asked);

}  // namespace pawl::executor
