#include "cli/decisions.h"

namespace pawl::cli {

Result<Json> decisions_of(store::Store& store, const std::string& run_id, const std::string& phase_id) {
  constexpr std::size_t kRowsMax = 100'000;
  Json out = Json::array();
  PAWL_TRY(const auto rows, store.ledger(run_id, phase_id, 1, kRowsMax));
  for (const auto& row : rows) {
    PAWL_TRY(Json json, parse_json(row.line));
    const auto type = text_in(json, "type");
    if (type != "resume" && type != "doctor" && type != "replan") continue;
    for (const char* of_the_chain : {"seq", "prev_hash", "hash"}) json.erase(of_the_chain);
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace pawl::cli
