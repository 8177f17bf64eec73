// Checks of the objects that an attempt is built on (docs/adr/0045). Listing a large base takes longer than
// starting a step. So the check for a step that costs no money runs on another thread, beside the step. A caller
// waits for the check before it records the step's result. A detail of this room.
#pragma once

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "workspace/object_store.h"

namespace pawl::executor {

class Looks {  // for one thread
 public:
  // `objects` must outlive it.
  explicit Looks(const workspace::ObjectStore& objects) : objects_(&objects) {}

  // Notes that this base ("": none) and these layers are about to be used.
  void need(std::string base_id, std::vector<std::string> layers);
  // Starts the check of all objects that are needed and not checked yet, on another thread. No effect
  // while a check runs.
  void begin();
  // Returns success when all needed objects are on disk as they were stored. Waits for a check that has begun, and
  // checks the other objects itself. kForged, kNotFound: as Workspaces::check_content. The next call checks failed
  // objects again.
  Status end();

 private:
  const workspace::ObjectStore* objects_;
  std::vector<workspace::Used> needed_;  // and whose check has not begun
  std::vector<workspace::Used> begun_;
  std::future<Status> look_;  // the check of begun_
};

}  // namespace pawl::executor
