// The story of a run: its rows in the store, joined, one page at a time. Shared by inspect and report.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/decisions.h"

namespace pawl::cli {

// Selects a part of a run. Reading a page costs what the page holds, however long the run is.
struct Page {
  std::string phase;         // only this one; "" for all
  std::int64_t attempt = 0;  // only this one of `phase`; 0 for the newest
  std::size_t attempts_max = std::numeric_limits<std::int64_t>::max();  // for each phase
  std::size_t phases_max = std::numeric_limits<std::int64_t>::max() - 1;
};

struct StepStory {
  store::StepRow row;
  Json run;           // SandboxRun; {} while there is none
  std::string state;  // done | running | execute started, result missing
  Json refused;       // what egress refused, from the network log while it exists
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
  std::vector<Json> operators;  // operators' decisions about the run as a whole
  std::vector<PhaseStory> phases;
  bool more_phases = false;  // the run has more phases than the page
};

// kNotFound: the phase, or the attempt of it, does not exist.
Result<Story> story_of(const State& state, const std::string& run_id, const Page& page);

// The object of `pawl inspect --json`: {run_id, state, phases}.
Json to_json(const Story& story);

// --- Words that inspect and report share.
bool is_running(const StepStory& step);
std::string short_label(const store::StepRow& step);     // "<gate>.<step>", and "#<episode>" with several
std::string ending_text(const Json& run);                // "exited 1", "signaled 9", "timed_out (why)"
std::string memory_text(std::int64_t kib);               // "12.3 MiB"
std::string signal_result(const Json& signal);           // passed | failed | missing
std::string details_text(const Json& signal);            // "exit_code=1 step=unit"
std::vector<std::string> unkept_texts(const Json& run);  // paths, then how many more there were
std::string try_text(const Json& refused);               // "evil.example:443: refused"
// Milliseconds from one time of the store to another; 0 when one is absent, or when the clock was set back.
std::int64_t ms_between(const std::string& from, const std::string& to);
std::string time_text(const std::string& at);  // "2026-01-02 03:04:05Z"

}  // namespace pawl::cli
