// The looks at objects that an attempt is built on (docs/adr/0045). A large base takes longer to be listed
// than a step takes to begin, so a look goes on beside a step that costs nobody anything; whoever would
// record its result waits for it. A detail of this room.
#pragma once

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "workspace/object_store.h"

namespace pawl::executor {

class Looks {
 public:
  // `objects` must outlive it.
  explicit Looks(const workspace::ObjectStore& objects) : objects_(&objects) {}

  // This base ("": none) and these layers are about to be used.
  void need(std::string base_id, std::vector<std::string> layers);
  // Looks at all that is needed and was not looked at, beside the caller.
  void begin();
  // All that was needed is on disk as it was kept. Waits for what was begun, and looks at the rest itself.
  // kForged, kNotFound: as Workspaces::check_content; what failed is looked at again the next time.
  Status end();

 private:
  const workspace::ObjectStore* objects_;
  std::vector<workspace::Used> needed_;  // and not begun
  std::vector<workspace::Used> begun_;
  std::future<Status> look_;  // at begun_
};

}  // namespace pawl::executor
