#include "store/overlap.h"

#include <utility>

#include "base/mutant.h"

namespace pawl::store {
namespace {

// A mutant (base/mutant.h).
bool compares_no_layers() { return mutant("layers_not_compared"); }

constexpr std::size_t kLayersAtOnce = 256;  // a page; bounds the memory used

}  // namespace

Result<Looked> look_beside(Reader& store, const AttemptRow& attempt, const std::string& layer,
                           std::int64_t after, const Overlaps& overlaps) {
  Looked out{.overlapping = std::nullopt, .up_to = after};
  while (!layer.empty() && !compares_no_layers()) {
    PAWL_TRY(auto layers, store.accepted_beside(attempt, out.up_to, kLayersAtOnce));
    if (layers.empty()) break;
    for (auto& other : layers) {
      if (overlaps(layer, other.layer_id)) {
        out.overlapping = std::move(other);
        return out;
      }
    }
    out.up_to = layers.back().merge_seq;
  }
  return out;
}

}  // namespace pawl::store
