// The process that hosts one step, and the client that talks to it. The room's door.
//
// One folder a step, `.pawl/spool/<sandbox_run_id>/`:
//   job.json     what to do (written durably before the supervisor starts)
//   lock         flock(2) held by the supervisor while it lives
//   supervisor   its process identity (os::to_text)
//   output       stdout and stderr of the step, as they come; supervisor.log: the supervisor's own words
//   context      what the step sees in /pawl; an agent's socket is in it
//   operator.sock  of an agent's step: for `pawl answer`
//   network, trace   JSON lines: tries to reach the network, what was executed; where the step asked for them
//   result.json  {"spec_hash", "run"}: written, fsynced, renamed, folder fsynced, before the supervisor exits
//   abandoned    written under the lock by a recovery that gave the step up: a late supervisor exits at once
// A supervisor outlives the executor (its own session, no pipes to it) and dies with everything in its
// sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sandbox/client.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {

// `folder` is .pawl, `executable` the program of kProgram, `backend` a name for sandbox::make_backend,
// `hidden` what no step that it starts sees, beside that folder: the sources of its runs.
std::unique_ptr<sandbox::SandboxClient> make_client(std::string folder, std::string executable,
                                                    std::string backend,
                                                    std::vector<std::string> hidden = {});

// The names of an agent's socket in /pawl, and of the operator's beside it in the spool.
inline constexpr std::string_view kAgentSocket = "agent.sock", kOperatorSocket = "operator.sock";
// Why a step was ended whose agent told that it has spent what it may.
inline constexpr std::string_view kUsageCapReason =
    "it has spent what it may: the cap of its tokens or its money";

// The program that hosts a step; it lies beside `pawl` and comes from the same build. Not for people: the
// client starts it as `pawl-supervisor <spool folder>`.
constexpr std::string_view kProgram = "pawl-supervisor";

// Its main(): 0 when a result was spooled or the step was abandoned, 3 when the disk is
// full, else 1.
int supervise(const std::string& spool_folder);

// Ids of the objects that steps whose end may not be recorded work on or have made: gc keeps them.
Result<std::vector<std::string>> objects_in_use(const std::string& folder);

std::string spool_folder(const std::string& folder, const std::string& sandbox_run_id);
// Where the output, the trace and the network log of a step that still runs grow.
enum class StepFile { kOutput, kTrace, kNetwork };
std::string step_path(const std::string& folder, const std::string& sandbox_run_id, StepFile file);

}  // namespace pawl::supervisor
