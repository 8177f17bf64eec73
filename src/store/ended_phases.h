// How each phase of a run ended, and whose work the run accepted in which order, by the rows of the run's chain. The
// store and `pawl verify` compare the tables with these rows before they act on the tables or sign. Pure.
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

// The end of a phase: by its newest seal, or by the `forked` row that shares it.
struct PhaseEnd {
  std::string state, outcome;
  std::optional<std::string> layer;  // accepted work; absent: a row of an older version does not name it
  ChainHead end;                     // end of its chain in this run; empty for a shared phase
};

struct AcceptedByRows {
  std::string phase_id;
  std::optional<std::string> layer;  // as in PhaseEnd
  // 0: accepted before the fork, and the `forked` row of an older version does not say in which order.
  std::int64_t merge_seq = 0;
};

class EndedPhases {
 public:
  // Adds the next row of the run's chain, in order. A row that does not end a phase has no effect.
  void add(const Json& row);
  void add(const EndedPhases& later);  // the ends of later rows
  // Records an end. A phase that was COMPLETE before keeps its place among the accepted phases.
  void seal(const std::string& phase_id, PhaseEnd end);

  bool empty() const { return ends_.empty(); }
  const std::map<std::string, PhaseEnd>& ends() const { return ends_; }
  const PhaseEnd* end_of(const std::string& phase_id) const;  // nullptr: no row ends it
  const std::vector<AcceptedByRows>& accepted() const { return accepted_; }

  // Returns the phase whose accepted work differs in `layers` (the table, ordered by merge_seq). Returns
  // nullopt when the table and the rows agree.
  std::optional<std::string> contradicted_by(const std::vector<LayerRow>& layers) const;
  // Returns the final state of the run whose first row is `started`. kForged: no row ends one of its phases.
  Result<RunState> state_of_run(const Json& started) const;

 private:
  std::map<std::string, PhaseEnd> ends_;
  std::vector<AcceptedByRows> accepted_;
};

bool is_end_of(const PhaseEnd& end, const PhaseRow& phase);  // true: the same state and outcome

}  // namespace pawl::store
