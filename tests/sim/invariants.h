// The invariants that hold at any moment of a history; docs/invariants.md lists them. Throws Violation.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/evidence.h"
#include "sim/sandboxes.h"
#include "sim/world.h"
#include "store/store.h"
#include "workspace/object_store.h"

namespace pawl::sim {

struct Bounds {
  std::int64_t max_attempts = 1, max_replans = 0, retries = 0;  // retries: operators' commands so far
  std::int64_t steps_of_attempt = 1;                            // hooks are steps, too
  std::int64_t best_of = 1;                                     // the largest of all phases
  bool effect_is_elsewhere = false;                             // a probe looks for it
  std::set<std::string> go_on_after_failure = {};               // phases with `on_retry: continue`
  bool agents_continue = false;                                 // in the workspace that a lost execution left
  std::int64_t refused_percent = 0;                             // agents that their provider refuses

  GatesOfPhases gate_steps;
  CapsOfPhases agent_caps;
  std::set<std::string> may_be_empty;  // phases
  std::set<std::string> any_exit;      // phases whose agent may end with any exit code

  std::string forked_from;             // the phase from which this run was forked
  std::int64_t replans_inherited = 0;  // replans of that phase in the other run, which may have set its goal

  std::int64_t replans_before(const std::string& phase_id) const {
    return phase_id == forked_from ? replans_inherited : 0;
  }
  std::int64_t attempts() const { return max_attempts * (1 + max_replans + retries); }
  std::int64_t executions() const { return attempts() * steps_of_attempt * store::kExecutionsPerStepMax; }
};

class Invariants {
 public:
  // REQUIRES: `sandboxes` outlives it.
  Invariants(store::Store& store, const SimSandboxes& sandboxes, const std::string& run_id)
      : store_(store), sandboxes_(sandboxes), run_id_(run_id), evidence_(store, run_id) {}

  // Checks after an event. `touched`: phases under whose lease a row was written since the last check. Other
  // phases are checked when their row has changed. `reopened`: phases that an operator has just reopened.
  void check(const Bounds& bounds, const std::set<std::string>& touched,
             const std::vector<std::string>& reopened = {});
  // Call before an operator's command on budgets.
  void budgets_may_change();
  // Checks at the end, when every phase is terminal; also checks the chains.
  void check_end(const SimSandboxes& sandboxes, const SimEpisodes& episodes,
                 const workspace::ObjectStore& objects);

 private:
  // Totals over the steps of a phase.
  struct Spent {
    std::int64_t reserved = 0, largest = 0, known = 0, lost_most = 0;  // sandbox milliseconds
    std::int64_t reserved_tokens = 0, reserved_usd_nanos = 0;
  };
  void check_phase(const store::PhaseRow& phase, const Bounds& bounds, bool reopened);
  void check_budget(const Bounds& bounds);
  // A chain only grows: its last known row is still there, unchanged.
  void check_chain(const std::string& chain);
  // Each call of a model is recorded exactly once.
  void check_usage(const SimEpisodes& episodes);
  // Each event in an agent's journal is one row.
  void check_told(const SimEpisodes& episodes);
  // The episodes of an attempt that is over: exactly one is chosen, and the choice follows from their results
  // alone.
  void check_episodes(const std::string& phase_id, const store::AttemptRow& attempt,
                      const std::vector<store::EpisodeRow>& episodes);
  // An attempt passed only under three conditions:
  // - its agent ended with 0, or the plan accepts any exit code,
  // - every step of every gate of its phase ran and passed in the chosen episode, on the work that is accepted;
  //   under `known_failing` its tests may fail that fail on base,
  // - every gate has signals, and all of them passed.
  void check_passed(const store::AttemptRow& attempt, const Bounds& bounds,
                    const std::vector<store::StepRow>& steps, const std::vector<store::EpisodeRow>& episodes);
  // The gates saw the work on top of everything that was accepted before. In a parallel tier the gates of
  // phases that passed before passed, too. `kept`: the episode whose steps count.
  void check_together(const store::AttemptRow& attempt, const Bounds& bounds,
                      const std::vector<store::StepRow>& steps, std::int64_t kept);
  // Whether the step worked on what the attempt left, on top of what the gates of its newest round started from.
  bool saw_work(const store::AttemptRow& attempt, const store::StepRow& step);
  // Whether the step passed on that in the round in which the attempt passed.
  bool held_in(const store::AttemptRow& attempt, const GateStep& planned, std::int64_t episode,
               const std::vector<store::StepRow>& steps, std::int64_t rerun);
  // Whether the gate held by its first run, or by a rerun where its plan says `flaky: pass` and a signal of the
  // attempt says that it is flaky.
  bool gate_held(const store::AttemptRow& attempt, const std::vector<GateStep>& all, const std::string& gate,
                 std::int64_t episode, const std::vector<store::StepRow>& steps);
  // Within a revision no failure repeats more often in a row than a plan allows. No two models share a
  // failure.
  static void check_failures(const std::string& phase_id, const std::vector<store::AttemptRow>& attempts);
  // Accepted work hides no earlier accepted work that its attempt did not see.
  void check_accepted(const workspace::ObjectStore& objects);
  // Only an episode that passed loses its stored data.
  void check_forgotten(const SimEpisodes& episodes);
  void check_rows(const store::PhaseRow& phase, const Bounds& bounds,
                  const std::vector<store::StepRow>& steps);
  Spent spent_by(const std::vector<store::StepRow>& steps);

  store::Store& store_;
  const SimSandboxes& sandboxes_;
  const std::string run_id_;
  Evidence evidence_;
  std::map<std::string, store::PhaseRow> before_;
  std::set<std::string> passed_;                     // attempts that check_passed() has seen
  std::map<std::string, Spent> spent_;               // by phase
  std::map<std::string, std::int64_t> duration_ms_;  // steps that are done
  std::map<std::string, std::int64_t> used_before_;  // budgets, by unit
  std::map<std::string, std::pair<std::int64_t, std::string>> chains_;  // rows and hash at the last check
};

}  // namespace pawl::sim
