// The steps of an attempt as the rows of its phase's chain say them. A claim hands their results to the
// executor, and `pawl verify` shows them: both compare the table with the rows. A member that rows of older
// versions lack is not compared. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "store/rows.h"

namespace pawl::store {

// Whether the row `pre_execute` started this step.
bool is_started_by(const Json& row, const StepRow& step);
// Whether the label, which a row has, names the columns that no row has: gate, step, episode and round. The place
// within a round follows from the plan, and the executor compares it.
bool is_named_by_its_label(const StepRow& step);
// Whether `label` is the label of an agent's step of that phase.
bool is_label_of_agent(std::string_view label, std::string_view phase_id);
// Whether the table has the decision of the newest row `resume` of the step; null: there is none.
bool is_decided_by(const Json* row, const StepRow& step);
// Whether the step ended when this row was written: `executed`, or `resume` for a lost step. A lost step is charged
// the time that the row says.
bool is_ended_by(const Json& row, const StepRow& step);

class StepsByRows {
 public:
  explicit StepsByRows(std::string attempt_id) : attempt_id_(std::move(attempt_id)) {}
  void add(const Json& row);  // the next row of the chain, in order; rows of other attempts have no effect
  // Returns the part of the attempt that differs from the rows, in words; "" when all agree. `steps`: all its steps.
  std::string contradicted_by(const AttemptRow& attempt, const std::vector<StepRow>& steps) const;

 private:
  bool says(const StepRow& step) const;
  bool says_work(const AttemptRow& attempt) const;

  std::string attempt_id_;
  std::map<std::string, Json> started_, executed_, resumed_;  // by sandbox_run_id
  std::set<std::string> given_up_;
  std::string agent_layer_;  // the only episode's layer, when its agent ended
  std::int64_t round_ = 0, round_merge_seq_ = 0;
};

}  // namespace pawl::store
