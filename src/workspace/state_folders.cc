#include "workspace/state_folders.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "os/file.h"
#include "os/parallel.h"
#include "os/state_folder.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

struct Seen {
  std::vector<std::string> states, below;
};

Seen look_at(const std::string& root, const std::string& folder, const Without& without) {
  Seen out;
  for (const auto& full : os::folders_in(folder.empty() ? root : os::join(root, folder))) {
    std::string path = child(folder, last_name(full));
    if (!is_kept_name(last_name(path)) || is_without(without, root, path)) continue;
    (os::is_state_folder(full) ? out.states : out.below).push_back(std::move(path));
  }
  return out;
}

}  // namespace

std::vector<std::string> state_folders_in(const std::string& root, const Without& without) {
  std::vector<std::string> out;
  for (std::vector<std::string> level{""}, below; !level.empty(); level = std::exchange(below, {})) {
    std::vector<Seen> seen(level.size());
    const auto looked = os::for_each_in_parallel(level.size(), [&](std::size_t i) -> Status {
      seen[i] = look_at(root, level[i], without);
      return {};
    });
    PAWL_CHECK(looked.has_value());
    for (auto& one : seen) {
      std::ranges::move(one.states, std::back_inserter(out));
      std::ranges::move(one.below, std::back_inserter(below));
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace pawl::workspace
