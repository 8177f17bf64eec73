// What the work of an attempt would hide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"

namespace pawl::store {

struct Looked {
  std::optional<LayerRow> overlapping;  // the first one
  std::int64_t up_to = 0;               // when none does: of what was accepted later, nothing is known
};

// Compares `layer` with what was accepted after that merge_seq and the attempt did not work on. To compare
// two layers may take long: what can be is looked at before a transaction begins, and in it only what came
// since.
Result<Looked> look_beside(Store& store, const AttemptRow& attempt, const std::string& layer,
                           std::int64_t after, const Overlaps& overlaps);

}  // namespace pawl::store
