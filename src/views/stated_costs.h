// The costs of a run as the rows of its ledger say them. The tables that are summed are compared with them, since
// a well-formed row may be forged. A member that rows of older versions lack is not compared. A detail of this
// room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "store/cost_row.h"
#include "store/reader.h"

namespace pawl::views {

class StatedCosts {
 public:
  // Reads all rows of the run once. Call it inside Store::read_together(), with the reading of the tables.
  static Result<StatedCosts> read(store::EvidenceReader& store, const std::string& run_id);

  // Lines of one file, in order, and what was read of each.
  template <typename Facts>
  struct Lines {
    std::vector<std::string> lines;
    std::vector<Facts> facts;
  };
  // Each returns what differs, in words; "" when all agrees.
  std::string differs(const Lines<store::CostFacts>& costs) const;
  std::string differs(const Lines<store::UsageFacts>& usage) const;
  // `took_ms`: the time that the ended step counts with.
  std::string differs(const store::StepRow& step, std::int64_t took_ms) const;

 private:
  struct Step {
    std::string cost, run;  // hashes; "" when no row names them
    std::optional<std::int64_t> spent_ms;
  };
  struct Usage {
    std::int64_t rows = 0;
    std::string lines;  // a hash
  };
  Status add(const std::string& run_id, const store::LedgerRow& row);

  // By sandbox_run_id.
  std::unordered_map<std::string, Step> steps_;
  std::unordered_map<std::string, Usage> usage_;
};

}  // namespace pawl::views
