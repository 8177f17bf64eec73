// Rows that a store wrote or read in its earlier transactions, and need not read again.
//
// This pays while one connection is the only writer: the workers of one process commit through one
// connection. When another connection commits, or a transaction is rolled back, all cached rows are dropped
// (Database::epoch). So a cached row is never older than the row that the transaction sees. A detail of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/ledger_rows.h"
#include "store/store.h"

namespace pawl::store::verbs {

// For a parallel tier: workers of `process` hold every open phase before `next_index`, each at least until
// `until`.
struct Held {
  std::string process;
  std::string mono_id;
  MonoTime until;
  std::int64_t tier_index = 0, next_index = 0;
  // They hold all the others too. Phases of other tiers that began are looked at without this memory.
  bool all = false;
};

struct Memory {
  std::int64_t epoch = -1;
  std::unordered_map<std::string, ChainHead> ends;                  // ends of chains, by run and chain
  std::unordered_map<std::string, StepRow> open_steps;              // by sandbox_run_id
  std::unordered_map<std::string, AttemptRow> unfinished;           // attempts, by run and phase
  std::unordered_map<std::string, std::vector<BudgetRow>> budgets;  // by run
  std::unordered_map<std::string, Held> held;                       // by run
  // Phases whose attempts were compared with their ledger rows; by run and phase.
  std::unordered_set<std::string> tried;
  std::optional<std::pair<std::string, TierRow>> last_tier;  // with its run_id; tiers never change

  // Entries of phases that no worker continues remain, so the size needs a bound.
  bool is_large() const {
    constexpr std::size_t kLarge = 4096;
    return ends.size() > kLarge || open_steps.size() > kLarge || unfinished.size() > kLarge ||
           budgets.size() > kLarge || held.size() > kLarge || tried.size() > kLarge;
  }
};

inline std::string key_of(const std::string& run_id, const std::string& rest) { return run_id + '/' + rest; }

}  // namespace pawl::store::verbs
