// Finds programs on this host. Also finds, before an attempt is spent, the programs of a plan that no step will see.
// Reads the host.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::executor {

struct ProgramPlace {
  std::string host_path;  // where this host has it; "": nowhere that was looked
  bool is_seen = false;   // a step finds it without more mounts
  // The mounts that show steps the program and what it needs. Empty: steps see it already, or it may not be mounted.
  std::vector<std::string> mounts;
  bool is_in_path = true;  // with these mounts, steps find the program by its name, where it may be mounted
};

// Looks for programs in the places that steps of a plan without mounts see. The result is in the order of `names`.
// `source`: a project on this host, whose node_modules/.bin is looked at, too; "": none.
std::vector<ProgramPlace> find_programs(const std::vector<std::string>& names, const std::string& source);

// Whether steps find the program by its name, together with its mounts.
bool can_be_used(const ProgramPlace& place);
// Why they do not, and what to do. REQUIRES: this host has it.
std::string why_not_usable(const ProgramPlace& place);

struct UnseenProgram {
  std::string name;  // as the plan writes it
  std::string user;  // the first that starts it: "agent of phase fix", "step unit of gate check"
  plan::Place at;    // the user's place, where it is known
  ProgramPlace place;
  bool is_certain = false;  // the plan names it by `use` or `acp`: each attempt would end with 127
  std::string install;      // the command that installs it, where a profile says it
};

// Programs of agents, gates, hooks and probes that start in any case (plan/script.h) and that lie neither in
// PATH of a step nor in `mounts`. In the order of the plan, each program once. Programs of the workspace, of
// /plan and of folders that steps write are left out. A plan with very many commands is looked through in part.
// `source` as for find_programs().
std::vector<UnseenProgram> unseen_programs(const plan::Plan& plan, const std::string& source);
// "agent of phase fix starts codex, which no step finds: ...", with what to do.
std::string text_of(const UnseenProgram& unseen);

// For a step whose command ended because `name` was not found: why no step finds it, and what to do. "": steps do find
// it, or the command does not need it in any case.
std::string why_absent(const plan::Common& plan, const std::vector<std::string>& argv,
                       const std::string& name);

// The mounts that show programs of the plan, each once. A gate may make the program that it starts; the program of an
// agent must exist. kNotFound: an agent's program can't be used.
Result<std::vector<std::string>> mounts_for(const plan::Plan& plan, const std::string& source);

// The path of the program in PATH of the user who runs Pawl; "": PATH lacks it. An absolute path is looked at as it
// is.
std::string program_on_host(const std::string& name);

}  // namespace pawl::executor
