#include "ledger/rows.h"

#include <algorithm>

#include "base/lines.h"

namespace pawl::ledger {

Result<Rows> rows_of(std::string_view text) {
  Rows out;
  for (const auto line : TextLines(text)) {
    PAWL_TRY(auto row, parse_json(line));
    out.push_back(std::move(row));
  }
  return out;
}

const Json* newest_of_type(const Rows& rows, std::string_view type) {
  const auto found = std::ranges::find_if(rows.rbegin(), rows.rend(),
                                          [&](const Json& row) { return text_in(row, "type") == type; });
  return found == rows.rend() ? nullptr : &*found;
}

const Json* seal_of(const Rows& run, std::string_view phase_id, bool* is_shared) {
  if (is_shared != nullptr) *is_shared = false;
  const auto seal = std::ranges::find_if(run.rbegin(), run.rend(), [&](const Json& row) {
    return text_in(row, "type") == "phase_sealed" && text_in(row, "phase_id") == phase_id;
  });
  if (seal != run.rend()) return &*seal;
  const Json* forked = newest_of_type(run, "forked");
  if (forked == nullptr) return nullptr;
  const auto& shared = list_in(*forked, "shared");
  const auto found =
      std::ranges::find_if(shared, [&](const Json& each) { return text_in(each, "phase_id") == phase_id; });
  if (found == shared.end()) return nullptr;
  if (is_shared != nullptr) *is_shared = true;
  return &*found;
}

}  // namespace pawl::ledger
