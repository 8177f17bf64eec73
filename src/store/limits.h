// The limits of a run as its ledger rows say them: the order of its phases, the attempts allowed and used,
// the caps and the amounts spent. The store and `pawl verify` compare the tables with them. A member that rows of
// older versions lack is not compared. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/rows.h"

namespace pawl::store {

// Whether the decision of a row `resume` closes a marker without a result. Rows of older versions then lack
// `cost` and `spent_ms`.
bool gives_up(std::string_view decision);

// Walks the places of phases in the order of the run's first row. `started` must outlive the object.
class PlacesByRows {
 public:
  explicit PlacesByRows(const Json& started);
  bool are_said() const;
  // Call it for each phase of the table, in the table's order. False: the rows have another phase at this
  // place.
  bool is_next(std::string_view phase_id, std::int64_t tier_index, std::int64_t phase_index);
  bool is_end() const;  // true: no phase is left

 private:
  void go_to_next();

  const Json &tiers_, &phases_;
  std::size_t tier_ = 0, place_ = 0, phase_ = 0;
};

// The tier index of each phase by the first row, in the order of its `phases`. Empty: an older version wrote
// the row, and it does not say the tiers.
std::vector<std::int64_t> tiers_of_phases(const Json& started);
// Whether the table of tiers agrees with the first row. True when the first row does not say the tiers.
bool are_tiers_of(const Json& started, const std::vector<TierRow>& tiers);
// The attempts that the plan allows the phase at that place; nullopt when the first row does not say it.
std::optional<std::int64_t> attempts_planned(const Json& started, std::int64_t tier_index,
                                             std::int64_t phase_index);

// Counts from the rows of a phase's chain how many attempts were used and how many are allowed. Also counts the level
// of its ladder of models, and the calls of the doctor and of the replanner.
class AttemptsByRows {
 public:
  // `planned` is attempts_planned(). Without a value, an older version made the run: its level and calls are not
  // compared. `inherits`: the run was forked at this phase, and the phase may have begun with a replanner's goal, as
  // revision 1, and above the first level.
  AttemptsByRows(std::optional<std::int64_t> planned, bool inherits);
  void add(const Json& row);  // the next row of the chain, in order
  // Returns the column of `phase` that disagrees with the rows; "" when all agree. `unfinished`: the number
  // of attempts that no row ends yet, 0 or 1.
  std::string_view contradicted_by(const PhaseRow& phase, std::int64_t unfinished) const;

 private:
  void count_hook(const Json& marker);
  std::string_view counter_contradicted_by(const PhaseRow& phase, std::int64_t unfinished) const;

  bool is_planned_, inherits_;
  // Bounds of max_attempts. An operator's limit is raised to the attempts used. The rows do not say whether
  // an attempt was under way at that moment, so there are two bounds.
  std::optional<std::int64_t> max_least_, max_most_;
  std::int64_t used_ = 0, total_ = 0;
  std::int64_t level_ = 0, doctor_calls_ = 0, replans_ = 0;
  std::int64_t revision_ = 0, revision_most_ = 0;
};

// Upper bound of an amount spent. It is below the 63 bits of the column; amounts that agents report have no
// other bound.
constexpr std::int64_t kSpentMax = 9'000'000'000'000'000'000;

// Sums what the rows of all chains charge for steps.
class SpentByRows {
 public:
  void add(const Json& row);  // in any order; other rows have no effect
  void add(std::string_view unit, std::int64_t amount);
  // Returns the unit whose amount in `budgets` disagrees with the rows; "" when all agree.
  std::string_view contradicted_by(const std::vector<BudgetRow>& budgets) const;

 private:
  std::int64_t sandbox_ms_ = 0, tokens_ = 0, usd_nanos_ = 0;
  bool is_least_ = false;  // a row of an older version lacks the time of a lost step
};

// Returns the unit whose reserved amount in `budgets` is not the sum of the reservations of `holders`; "" when all
// agree. No row says these amounts, so tables are compared with tables.
std::string_view reserved_contradicted(const std::vector<BudgetRow>& budgets,
                                       const std::vector<StepRow>& holders);

// Compares the caps in `budgets` with the caps of the first row. The newest cap that an operator set (`by_operators`)
// replaces the planned cap. Returns the unit that disagrees; "" when all agree.
using Caps = std::map<std::string, std::int64_t>;
std::string_view cap_contradicted(const Json& started, const Caps& by_operators,
                                  const std::vector<BudgetRow>& budgets);
// Adds the cap that an operator's row in the run's chain sets. The action of such a row is `budget UNIT CAP`.
void note_cap(const Json& row, Caps& caps);

// Returns the row of that unit, or an empty one. Tokens and money have a row once they are capped or spent.
BudgetRow of_unit(const std::vector<BudgetRow>& budgets, std::string_view unit);

}  // namespace pawl::store
