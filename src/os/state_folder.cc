#include "os/state_folder.h"

#include <algorithm>

#include "os/file.h"

namespace pawl::os {

bool has_state_key(const std::string& folder) { return exists(join(folder, kStateKey)); }

bool is_state_folder(const std::string& folder) {
  return has_state_key(folder) &&
         std::ranges::any_of(kBesideStateKey, [&](const char* name) { return exists(join(folder, name)); });
}

}  // namespace pawl::os
