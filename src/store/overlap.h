// Finds accepted work that the work of an attempt would hide: layers that touch the same path and that the
// attempt did not work on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/reader.h"
#include "store/verbs.h"

namespace pawl::store {

struct Looked {
  std::optional<LayerRow> overlapping;  // the first accepted layer that overlaps
  // The newest merge_seq that was compared, when none overlaps. Layers accepted later are not compared.
  std::int64_t up_to = 0;
};

// Compares `layer` with each layer that was accepted after merge_seq `after` and that is not in the attempt's
// base. Comparing two layers reads files and may take long. So a caller compares before its transaction begins.
// Inside the transaction it compares only the layers that were accepted since.
Result<Looked> look_beside(Reader& store, const AttemptRow& attempt, const std::string& layer,
                           std::int64_t after, const Overlaps& overlaps);

}  // namespace pawl::store
