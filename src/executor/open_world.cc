#include "executor/open_world.h"

#include <limits>
#include <utility>

#include "executor/kept_work.h"
#include "executor/reported.h"
#include "ledger/ledger.h"
#include "os/file.h"
#include "os/process.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

Result<std::unique_ptr<supervisor::StepRunner>> installed_step_runner(const State& state,
                                                                      std::vector<std::string> hidden) {
  PAWL_TRY(const std::string own, os::own_executable());
  std::string program = os::join(own.substr(0, own.rfind('/')), supervisor::kProgram);
  if (!os::exists(program))
    return fail(ErrorKind::kNotFound,
                program + ": no such program; it belongs beside pawl: copy all four from one build");
  return supervisor::make_step_runner({.folder = state.folder,
                                       .executable = std::move(program),
                                       .key = ledger::key_of_steps(*state.sealer),
                                       .hidden = std::move(hidden)});
}

}  // namespace

Result<std::unique_ptr<OpenWorld>> OpenWorld::open(const State& state, std::vector<std::string> hidden) {
  std::unique_ptr<OpenWorld> out(new OpenWorld(state));
  PAWL_TRY(out->sandboxes_, installed_step_runner(state, std::move(hidden)));
  out->objects_ = workspace::object_store(*state.workspaces);
  PAWL_TRY(out->redactor_, secrets::open_redactor(state.folder));
  out->journals_ = open_journals(state.folder);
  return out;
}

Status settle_ended_steps(const State& state) {
  PAWL_TRY(const auto open, OpenWorld::open(state));
  return settle_ended_steps(open->world());
}

Status end_work_of(const State& state, const std::string& run_id, const std::vector<std::string>& phases) {
  PAWL_TRY(const auto open, OpenWorld::open(state));
  const auto settled = settle_ended_steps(open->world());
  constexpr std::int64_t kEach = std::numeric_limits<std::int64_t>::max();
  for (const auto& phase : phases) PAWL_OK(forget_homes_before(open->world(), run_id, phase, kEach));
  return settled;
}

}  // namespace pawl::executor
