// Compares the ledger's rows with the tables after each event. It is independent: it does not trust the store
// and uses none of its checks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world.h"
#include "store/store.h"

namespace pawl::sim {

constexpr std::size_t kRowsMax = 1'000'000;  // large enough for all rows of a chain

// The text under `key` in a row, without parsing (quotes inside a canonical string are escaped); "" when
// there is none. Takes the last match: no nested object has such a key after a row's own type, and rows of
// steps have none at all.
std::string_view value_of(std::string_view row, std::string_view key);

class Evidence {
 public:
  Evidence(store::Store& store, std::string run_id) : store_(store), run_id_(std::move(run_id)) {}

  // Each phase that is over has a row that says so, and that names its work and the end of its chain. The
  // signed head has the end of the run's chain.
  void check_ends(const std::vector<store::PhaseRow>& phases);
  // Each step that ended has exactly one row, which names its result and its cost row.
  void check_steps(const std::string& phase_id, const std::vector<store::StepRow>& steps);

 private:
  struct Seal {
    std::string state, outcome, layer, head;
    std::int64_t rows = 0;
    bool is_new = false;
  };
  struct End {
    std::string result, cost;  // hashes
  };
  struct Steps {
    std::int64_t rows = 0;  // rows of the phase's chain read so far
    std::map<std::string, End> ended;
    std::set<std::string> checked;
  };
  void note(const store::LedgerRow& row);
  void check_signed(const store::LedgerRow& last);
  void check_work(const std::vector<store::PhaseRow>& phases);
  void read_costs();

  store::Store& store_;
  const std::string run_id_;
  std::int64_t rows_ = 0;              // rows of the run's chain read so far
  std::map<std::string, Seal> seals_;  // the newest seal, by phase
  std::map<std::string, Steps> steps_;
  std::int64_t cost_rows_ = 0;
  std::map<std::string, std::string> costs_;  // hash of the row, by step
};

}  // namespace pawl::sim
