// The rows of a run say what limits it: the order of its phases, how often each may be tried and was, what it
// may spend and has spent. Tables are held to it; what rows of older versions do not say is not compared.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/rows.h"

namespace pawl::store {

// Walks the places of phases that the first row of a run lists. `started` must outlive it.
class PlacesByRows {
 public:
  explicit PlacesByRows(const Json& started);
  bool are_said() const;
  // Asked of each phase of the table, in its order. False: another one comes next.
  bool is_next(std::string_view phase_id, std::int64_t tier_index, std::int64_t phase_index);
  bool is_end() const;  // no phase is left

 private:
  void go_to_next();

  const Json &tiers_, &phases_;
  std::size_t tier_ = 0, place_ = 0, phase_ = 0;
};

// The tier of each phase by the first row, in the order of its `phases`; empty: it does not say them.
std::vector<std::int64_t> tiers_of_phases(const Json& started);
// Whether the table says of tiers what the first row says, or that one says nothing.
bool are_tiers_of(const Json& started, const std::vector<TierRow>& tiers);
// How often the phase at that place may be tried by the plan.
std::optional<std::int64_t> attempts_planned(const Json& started, std::int64_t tier_index,
                                             std::int64_t phase_index);

// The rows of a phase's chain tell how often it was tried, and may be; how far its ladder of models went; and
// how often a doctor and a replanner were called.
class AttemptsByRows {
 public:
  // `planned` is attempts_planned(); a run whose first row does not say it is of a version that may count
  // otherwise. `inherits`: the run was forked at this phase, and may have begun with the goal of a replanner,
  // and higher on the ladder.
  AttemptsByRows(std::optional<std::int64_t> planned, bool inherits);
  void add(const Json& row);  // the next one
  // The column of `phase` that says something else; "" when none does. `unfinished`: the attempts without a
  // row of their end, 0 or 1.
  std::string_view contradicted_by(const PhaseRow& phase, std::int64_t unfinished) const;

 private:
  void count_hook(const Json& marker);
  std::string_view counter_contradicted_by(const PhaseRow& phase, std::int64_t unfinished) const;

  bool is_planned_, inherits_;
  // An operator's limit is at least what was used; whether an attempt was under way then, no row says.
  std::optional<std::int64_t> max_least_, max_most_;
  std::int64_t used_ = 0, total_ = 0;
  std::int64_t level_ = 0, doctor_calls_ = 0, replans_ = 0;
  std::int64_t revision_ = 0, revision_most_ = 0;
};

// The column's bound is the only one of what agents tell.
constexpr std::int64_t kSpentMax = 9'000'000'000'000'000'000;

// The sum of what the rows of all chains say that steps took.
class SpentByRows {
 public:
  void add(const Json& row);  // in any order; one of a step that did not end adds nothing
  void add(std::string_view unit, std::int64_t amount);
  // The unit of which `budgets` says something else; "" when none does.
  std::string_view contradicted_by(const std::vector<BudgetRow>& budgets) const;

 private:
  std::int64_t sandbox_ms_ = 0, tokens_ = 0, usd_nanos_ = 0;
  bool is_least_ = false;  // rows of an older version do not say how long a lost step took
};

// The caps of the first row, each replaced by the newest that an operator set in `by_operators`. The unit of
// which `budgets` says another cap; "" when none does.
using Caps = std::map<std::string, std::int64_t>;
std::string_view cap_contradicted(const Json& started, const Caps& by_operators,
                                  const std::vector<BudgetRow>& budgets);
// Adds the cap that an operator's row in the run's chain sets: its action is `budget UNIT CAP`.
void note_cap(const Json& row, Caps& caps);

// The row of that unit; tokens and money have one once they are capped or spent.
BudgetRow of_unit(const std::vector<BudgetRow>& budgets, std::string_view unit);

}  // namespace pawl::store
