#include "executor/state.h"

#include <utility>

#include "ledger/ledger.h"
#include "os/file.h"
#include "os/state_folder.h"

namespace pawl::executor {
namespace {

Status open_objects(State& state) {
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(state.folder));
  state.workspaces = std::make_unique<workspace::Workspaces>(std::move(workspaces));
  return {};
}

Status open_store(State& state) {
  state.workspaces->use_key(ledger::key_of_objects(*state.sealer));
  PAWL_TRY(state.store, store::open_store(state.location, state.sealer));
  return {};
}

}  // namespace

std::string default_location(const std::string& folder) {
  return store::location_of_file(os::join(folder, os::kDatabaseFile));
}

Result<State> open_state(const std::string& folder, const std::string& location) {
  State state{.folder = folder};
  PAWL_OK(open_objects(state));
  PAWL_TRY(state.folder, os::absolute_path(folder));  // it exists now
  state.location = location.empty() ? default_location(state.folder) : location;
  PAWL_TRY(state.sealer, ledger::open_sealer(state.folder));
  PAWL_OK(open_store(state));
  return state;
}

Result<State> open_again(const State& state) {
  State again{.folder = state.folder, .location = state.location, .sealer = state.sealer};
  PAWL_OK(open_objects(again));
  PAWL_OK(open_store(again));
  return again;
}

}  // namespace pawl::executor
