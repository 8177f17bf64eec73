// The process that hosts one step, and the runner that starts and finds it. This header is the public interface of
// the room.
//
// Each step has one folder, `.pawl/spool/<sandbox_run_id>/`:
//   job.json     the job, sealed (written atomically, not durably, before the supervisor starts)
//   lock         flock(2), held by the supervisor while it lives
//   supervisor   its process identity (os::to_text)
//   output       stdout and stderr of the step, as they come
//   supervisor.log   the supervisor's own messages
//   context      the files that the step sees in /pawl, with an agent's socket
//   operator.sock    of an agent's step: for `pawl answer`
//   network, trace   JSON lines, if the step asked for them: attempts to reach the network; programs executed
//   result.json  {"spec_hash", "run", "seal"}: written, fsynced, renamed, folder fsynced, before the
//                supervisor exits
//   abandoned    written under the lock by a recovery that gave the step up: a late supervisor exits at once
// HOME of an agent is `.pawl/homes/<run_id>.<attempt_id>/<episode_id>/`, for all executions of the episode. It
// stays until the attempt has ended. An attacker wrote it: no part of Pawl reads a file there, and it is
// removed without following a link.
//
// A supervisor outlives the executor: it has its own session. The only pipe to it, its stdin, brings the key of its
// seals and the credentials of an agent (handed_over.h), and is closed before the sandbox starts. When a supervisor
// dies, its sandbox ends as sandbox/backend.h says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "supervisor/step_runner.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {

struct RunnerOptions {
  std::string folder;               // .pawl
  std::string executable;           // the program kProgram
  std::string key;                  // the folder's secret for its steps' seals: kHashKeySize bytes
  std::vector<std::string> hidden;  // paths that the steps do not see, beside .pawl: the sources of its runs
};
// The result is thread-safe. It takes only results that a supervisor with this key wrote.
std::unique_ptr<StepRunner> make_step_runner(RunnerOptions options);

// The state of a step by its spool, for callers that start no steps. `folder`: .pawl.
Result<Found> find_step(const std::string& folder, const std::string& sandbox_run_id);

// The names of an agent's socket in /pawl, and of the operator's socket beside it in the spool.
inline constexpr std::string_view kAgentSocket = "agent.sock", kOperatorSocket = "operator.sock";
// The reason of a step that was ended because its agent reported that it had spent its cap.
inline constexpr std::string_view kUsageCapReason =
    "it has spent what it may: the cap of its tokens or its money";

// The program that hosts a step. It lies beside `pawl` and comes from the same build. It is not for users:
// a StepRunner starts it as `pawl-supervisor <spool folder>`, with the step's key as its stdin.
constexpr std::string_view kProgram = "pawl-supervisor";

// Its main(). Returns 0 when a result was spooled, the step was abandoned or forgotten, or another supervisor
// had begun it; 3 when the disk is full; 1 on any other error.
int supervise(const std::string& spool_folder);

// Ids of the objects that are read or made by steps whose end may not be recorded yet. gc must not remove
// them.
Result<std::vector<std::string>> objects_in_use(const std::string& folder);

std::string spool_folder(const std::string& folder, const std::string& sandbox_run_id);
// The folder with HOME of each agent of an attempt, and the folder of all such folders, in .pawl.
std::string homes_of(const std::string& run_id, const std::string& attempt_id);
inline constexpr std::string_view kHomes = "homes";
// The files to which the output, the trace and the network log of a running step are appended.
enum class StepFile { kOutput, kTrace, kNetwork };
std::string step_path(const std::string& folder, const std::string& sandbox_run_id, StepFile file);

}  // namespace pawl::supervisor
