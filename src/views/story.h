// The story of a run: its rows in the store, joined, one page at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "views/seen.h"
#include "views/views.h"

namespace pawl::views {

// Selects a part of a run. Reading a page costs what the page holds, however long the run is.
struct Page {
  std::string phase;         // only this one; "" for all
  std::int64_t attempt = 0;  // only this one of `phase`; 0 for the newest
  std::size_t attempts_max = std::numeric_limits<std::int64_t>::max();  // for each phase
  std::size_t phases_max = std::numeric_limits<std::int64_t>::max() - 1;
};

// Where a step is. An open marker says only that it began, so its supervisor is asked.
enum class StepNow {
  kDone,      // its result is recorded
  kRunning,   // its supervisor runs it, or has a result that is not recorded yet
  kNoResult,  // it began, and its result is missing
  kWaited,    // its provider refused it, and it runs again in a later execution
};
std::string_view name(StepNow now);  // done, running, waited, "execute started, result missing"

struct StepStory {
  store::StepRow row;
  Json run;  // SandboxRun; {} while there is none
  StepNow now = StepNow::kNoResult;
  Json refused;  // what egress refused, from the network log while it exists
};

struct AttemptStory {
  store::AttemptRow row;
  std::vector<StepStory> steps;
  std::vector<store::EpisodeRow> episodes;  // only when there were several and the attempt is over
  Json signals, feedback;
  std::vector<Json> decisions;  // rows resume, doctor, replan, and operators' rows after them
};

struct PhaseStory {
  store::PhaseRow row;
  std::vector<Json> before;             // operators' decisions before the first attempt that is shown
  std::vector<AttemptStory> attempts;   // oldest first
  std::int64_t earlier = 0, later = 0;  // attempts that the page leaves out
};

struct Story {
  store::RunRow run;
  std::optional<store::ForkPoint> fork;
  std::vector<store::BudgetRow> budgets;
  std::int64_t unknown_executions = 0;  // executions of agents whose use no row knows
  std::vector<Json> operators;          // operators' decisions about the run as a whole
  std::vector<PhaseStory> phases;
  bool more_phases = false;  // the run has more phases than the page
  std::optional<SeenInPart> seen_in_part;
  std::optional<NotJudgedWith> not_judged_with;
};

// kNotFound: the run, the phase, or the attempt of it does not exist.
Result<Story> story_of(const State& state, const std::string& run_id, const Page& page);

// The object of `pawl inspect --json`: {run_id, state, phases}, and {seen_in_part} when no gate saw the work of
// the run as a whole. A phase has {not_judged_with: [phase_id]} when no gate saw its work together with that.
Json to_json(const Story& story);

}  // namespace pawl::views
