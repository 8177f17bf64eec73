// The part of a run's ledger that a store has checked. It writes and signs only on top of checked rows. A
// detail of this room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "store/ended_phases.h"
#include "store/ledger_rows.h"
#include "store/limits.h"
#include "store/store.h"

namespace pawl::store::verbs {

constexpr std::size_t kTrustedRunsMax = 1024;  // more runs than one process works on at a time

struct Trusted {
  std::int64_t epoch = -1;                  // the database's epoch at the newest check
  Head head;                                // its signature was checked or made by this store
  std::map<std::string, ChainHead> listed;  // ends of chains, by that head
  std::optional<SpentByRows> spent;         // by that head; absent: an older version made it
  // The run's chain was checked row by row up to this end. The members below come from those rows.
  ChainHead run{.chain = "", .rows = 0, .head = std::string(kZeroHash)};
  // The ends of phases and the caps that operators set: by checked rows, and (own_) by rows that this store wrote
  // since. A rollback of their transaction drops the own_ values.
  EndedPhases ended, own_ended;
  Caps caps, own_caps;
  Json started;                     // the first row
  std::optional<ForkPoint> forked;  // origin of a fork
  std::vector<std::int64_t> tiers;  // its phases' tiers, in the order of `started`; empty: an older version
  // All phases before this place, in that order, are over by rows.
  std::size_t first_open = 0;
  std::int64_t tables_epoch = -1;  // epoch of the newest comparison with the tables
};

}  // namespace pawl::store::verbs
