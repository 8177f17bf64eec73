// What a store has checked of a run's ledger, so that it writes and signs on top of nothing else. A detail of
// this room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/json.h"
#include "store/ended_phases.h"
#include "store/ledger_rows.h"
#include "store/limits.h"
#include "store/store.h"

namespace pawl::store::sqlite {

constexpr std::size_t kTrustedRunsMax = 1024;  // more than one process works on at a time

struct Trusted {
  std::int64_t epoch = -1;                  // of the connection, when it was checked last
  Head head;                                // its signature was checked, or made here
  std::map<std::string, ChainHead> listed;  // where chains end, by that head
  std::optional<SpentByRows> spent;         // by that head; one of an older version does not say it
  // The run's chain was checked up to here, row by row; what follows is said by those rows.
  ChainHead run{.chain = "", .rows = 0, .head = std::string(kZeroHash)};
  // By those rows the ends of phases, and the caps that an operator set. Rows of this store since then may be
  // taken back with its transaction.
  EndedPhases ended, own_ended;
  Caps caps, own_caps;
  Json started;                     // the first row
  std::optional<ForkPoint> forked;  // from where, without the attempt
  std::int64_t tables_epoch = -1;   // when the tables were compared last
};

}  // namespace pawl::store::sqlite
