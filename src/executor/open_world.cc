#include "executor/open_world.h"

#include <utility>

#include "executor/told.h"
#include "os/file.h"
#include "os/process.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {

Result<std::unique_ptr<sandbox::SandboxClient>> make_client(const std::string& folder,
                                                            const std::string& backend,
                                                            std::vector<std::string> hidden) {
  PAWL_TRY(const std::string own, os::own_executable());
  std::string supervisor = os::join(own.substr(0, own.rfind('/')), supervisor::kProgram);
  if (!os::exists(supervisor))
    return fail(ErrorKind::kNotFound,
                supervisor + ": no such program; it belongs beside pawl: copy all four from one build");
  return supervisor::make_client(folder, std::move(supervisor), backend, std::move(hidden));
}

Result<std::unique_ptr<OpenWorld>> OpenWorld::open(const State& state, const std::string& backend,
                                                   std::vector<std::string> hidden) {
  std::unique_ptr<OpenWorld> out(new OpenWorld(state));
  PAWL_TRY(out->sandboxes_, make_client(state.folder, backend, std::move(hidden)));
  out->objects_ = workspace::object_store(*state.workspaces);
  PAWL_TRY(out->redactor_, secrets::open_redactor(state.folder));
  out->episodes_ = open_episodes(state.folder);
  return out;
}

Status pay_what_is_owed(const State& state) {
  PAWL_TRY(const auto open, OpenWorld::open(state, "namespace"));
  return pay_what_is_owed(open->world());
}

}  // namespace pawl::executor
