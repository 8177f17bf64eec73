// What a store has checked of a run's ledger, so that it writes and signs on top of nothing else. A detail of
// this room.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/hash.h"
#include "base/json.h"
#include "store/ledger_rows.h"
#include "store/store.h"

namespace pawl::store::sqlite {

constexpr std::size_t kTrustedRunsMax = 1024;  // more than one process works on at a time

struct Trusted {
  std::int64_t epoch = -1;                  // of the connection, when it was checked last
  Head head;                                // its signature was checked, or made here
  std::map<std::string, ChainHead> listed;  // where chains end, by that head
  // The run's chain was checked up to here, row by row; what follows is said by those rows.
  ChainHead run{.chain = "", .rows = 0, .head = std::string(kZeroHash)};
  // By phase, where it ended and the layer of it that was accepted, which older ledgers do not say. What this
  // store has sealed since may be taken back with its transaction.
  std::map<std::string, ChainHead> sealed, own_sealed;
  std::map<std::string, std::string> accepted, own_accepted;
  Json started;                    // the first row
  std::int64_t layers_epoch = -1;  // when the table of accepted layers was compared last
};

}  // namespace pawl::store::sqlite
