// The use of an agent's models, as far as the agent reports it. Agents report it in several places: at the end of a
// turn (`usage`), in extensions of it (`_meta`), or in messages on the way. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/printed.h"
#include "agent/reports.h"

namespace pawl::agent::acp {

class Used {
 public:
  // `reported`: the part of the session's cost that an earlier execution has reported.
  explicit Used(std::int64_t reported) : reported_(reported) {}

  void set_model(std::string model) { model_ = std::move(model); }  // for usage that is seen from now on
  void see_update(const PrintedObject& update);
  void see_end(const PrintedObject& result);  // the result of session/prompt

  // The usage by model, without an id. Model "": the agent does not name it.
  std::vector<Usage> by_model() const;
  // Whether the usage at the end of a turn of several calls is that of the last call alone, as opencode 1.18.33 reports
  // it: no more input than that call's context, which a message on the way has.
  bool has_last_call_alone() const;
  // Whether by_model() lacks a number that the agent told and that is no count of tokens.
  bool is_part() const { return ended_.empty() ? on_the_way_is_part_ : ended_is_part_; }
  // The cost of the session in all executions, in millionths of a dollar.
  std::int64_t cost_of_session() const { return cost_.value_or(reported_); }

 private:
  std::int64_t reported_ = 0;
  std::optional<std::int64_t> cost_;  // the session's, cumulated
  std::int64_t context_ = 0;          // tokens of the newest call; 0: not known
  std::string model_;
  std::vector<Usage> ended_, on_the_way_;
  bool ended_is_part_ = false, on_the_way_is_part_ = false;
};

}  // namespace pawl::agent::acp
