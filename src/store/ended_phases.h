// The rows of a run's chain say of its phases how each ended, and whose work is a part of the run, in
// which order. Tables, and what is signed next, are held to it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "store/ledger_rows.h"
#include "store/rows.h"

namespace pawl::store {

// By the newest seal of a phase, or the fork that shares it.
struct PhaseEnd {
  std::string state, outcome;
  std::optional<std::string> layer;  // the work of it that is accepted; absent: an older version did not say
  ChainHead end;                     // of its chain in this run; that of a shared phase is empty
};

struct AcceptedByRows {
  std::string phase_id;
  std::optional<std::string> layer;  // as in PhaseEnd
  // 0: one of the first, in an order that a fork of an older version does not say.
  std::int64_t merge_seq = 0;
};

class EndedPhases {
 public:
  void add(const Json& row);  // the next one; a row that ends no phase changes nothing
  void add(const EndedPhases& later);
  void seal(const std::string& phase_id, PhaseEnd end);

  bool empty() const { return ends_.empty(); }
  const std::map<std::string, PhaseEnd>& ends() const { return ends_; }
  const PhaseEnd* end_of(const std::string& phase_id) const;  // nullptr: no row ends it
  const std::vector<AcceptedByRows>& accepted() const { return accepted_; }

  // The phase of which `layers`, the table by merge_seq, says something else; nothing when it says the same.
  std::optional<std::string> contradicted_by(const std::vector<LayerRow>& layers) const;
  // The state of a run whose first row is `started`, when nothing more is done. kForged: no row ends one of
  // its phases.
  Result<RunState> state_of_run(const Json& started) const;

 private:
  std::map<std::string, PhaseEnd> ends_;
  std::vector<AcceptedByRows> accepted_;
};

bool is_end_of(const PhaseEnd& end, const PhaseRow& phase);  // the same state and outcome

}  // namespace pawl::store
