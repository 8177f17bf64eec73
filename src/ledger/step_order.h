// Checks the steps of one phase against each other: no step of an attempt runs again after its result, no gate
// judges before the agent has ended, and the work that rows name is that of an agent. A detail of this room. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace pawl::ledger {

class StepOrder {
 public:
  explicit StepOrder(std::string_view phase_id) : phase_id_(phase_id) {}
  // The next row `pre_execute` or `executed` of the chain, without its hash, which must outlive this. Returns what it
  // contradicts, in words; "" when it fits.
  std::string add(std::string_view line);
  // As add(), of a row `attempt`. REQUIRES: the rows of its steps were added.
  std::string check_work(const Json& attempt) const;

 private:
  struct Step {
    std::int64_t execution = 0;
    bool has_result = false;
  };
  struct Row {
    std::string_view attempt_id, label, layer, id;
    bool has_layer = false;
    std::string_view episode;  // the digits after ".episode"; empty for the only one
  };
  static Row read(std::string_view line);
  bool is_of_agent(const Row& row) const;
  bool may_be_of_two_gates(std::string_view label) const;
  std::string begin(const Row& row, std::int64_t execution);
  std::string end(const Row& row);

  std::string_view phase_id_;
  std::map<std::pair<std::string_view, std::string_view>, Step> steps_;  // by attempt_id, label
  std::map<std::string_view, Step*> started_;                            // by sandbox_run_id
  using Episode = std::pair<std::string_view, std::string_view>;         // attempt_id, number
  std::set<Episode> judged_;                                             // a gate's step has a result
  std::map<Episode, std::string_view> work_;                             // layer of the agent's result
  Episode last_;                                                         // the newest entry in work_
};

}  // namespace pawl::ledger
