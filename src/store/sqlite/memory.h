// What a store need not read again: rows as it wrote or read them in earlier transactions of its own.
//
// Worth having while a connection is the only one that writes, as the workers of one process are, who commit
// together. As soon as anybody else has committed, or something was taken back, all of it is forgotten
// (Connection::epoch): so nothing here is ever older than what the transaction sees. A detail of this room.
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

namespace pawl::store::sqlite {

// Of a parallel tier: its phases before `next_index` that are not over are held by workers of `process`, each
// until `until` at least.
struct Held {
  std::string process;
  std::string mono_id;
  MonoTime until;
  std::int64_t tier_index = 0, next_index = 0;
  // So are all the others, and nothing of another tier has begun: the run has nothing to claim.
  bool all = false;
};

struct Memory {
  std::int64_t epoch = -1;
  std::unordered_map<std::string, ChainHead> ends;                  // of chains, by run and chain
  std::unordered_map<std::string, StepRow> open_steps;              // by sandbox_run_id
  std::unordered_map<std::string, AttemptRow> unfinished;           // attempts, by run and phase
  std::unordered_map<std::string, std::vector<BudgetRow>> budgets;  // by run
  std::unordered_map<std::string, Held> held;                       // by run
  std::unordered_set<std::string> tried;  // phases whose attempts were held to their rows, by run and phase
  std::optional<std::pair<std::string, TierRow>> last_tier;  // of the run; tiers never change

  // Of phases that nobody goes on with, something stays.
  bool is_large() const {
    constexpr std::size_t kLarge = 4096;
    return ends.size() > kLarge || open_steps.size() > kLarge || unfinished.size() > kLarge ||
           budgets.size() > kLarge || held.size() > kLarge || tried.size() > kLarge;
  }
};

inline std::string key_of(const std::string& run_id, const std::string& rest) { return run_id + '/' + rest; }

}  // namespace pawl::store::sqlite
