// The state folder (.pawl) that a process works on, opened: its store, its objects, and the key that seals
// rows.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "store/store.h"
#include "workspace/workspace.h"

namespace pawl::executor {

// An object serves one thread, as its Store does.
struct State {
  std::string folder;    // .pawl, absolute
  std::string location;  // where the store is
  std::shared_ptr<const store::RowSealer> sealer;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<workspace::Workspaces> workspaces;
};

// The location of the store in `folder`, unless a person names another location.
std::string default_location(const std::string& folder);

// Opens the state in `folder`, and makes the missing parts. An empty `location` means default_location(). REQUIRES:
// check_state_folder() has accepted the folder when it exists, and check_database() a store elsewhere
// (state_folder.h). Errors: the errors of the three parts.
Result<State> open_state(const std::string& folder, const std::string& location);

// Opens the same state again, for another thread. Reads only constant members of `state`, so its thread may
// use it meanwhile.
Result<State> open_again(const State& state);

}  // namespace pawl::executor
