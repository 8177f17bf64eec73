#include "executor/finish.h"

#include <string>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "executor/kept_work.h"
#include "executor/reported.h"
#include "sandbox/backend.h"
#include "store/overlap.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool forgets_all_journals() { return mutant("episodes_cleared_together"); }
bool forgets_home_early() { return mutant("home_forgotten_before_the_retry"); }

class AttemptFinish {
 public:
  AttemptFinish(const World& world, Observer& observer, const store::Claim& claim, Attempt& attempt,
                Ends& ends)
      : world_(world), observer_(observer), claim_(claim), attempt_(attempt), ends_(ends) {}

  Result<std::optional<Turn>> run() {
    PAWL_OK(attempt_.hold_objects());
    PAWL_TRY(auto end, end_of({}));
    end.agent_layer = attempt_.chosen().episode.agent_layer();
    PAWL_TRY(const auto finished, commit(end));
    if (finished.behind) {
      PAWL_OK(judge_again());
      return std::optional<Turn>();
    }
    ends_.recorded();
    if (finished.state == store::PhaseState::kComplete) forget_journals();
    if (!goes_on_in_home(finished)) PAWL_OK(forget_homes());
    if (!finished.ended_steps.empty()) settle_or_report(world_, observer_);
    for (const auto& row : finished.warnings) observer_.budget_nears_its_end(claim_, row);
    observer_.attempt_ended(claim_, end, finished);
    return std::optional(Turn{.kind = Turn::Kind::kAttempt,
                              .run_ended = finished.run_ended,
                              .run_id = claim_.run.run_id,
                              .phase_id = claim_.phase.phase_id});
  }

 private:
  // A crash, or an operator, may have left the HOME of an earlier attempt.
  Status forget_homes() {
    world_.sandboxes.forget_homes(claim_.run.run_id, claim_.attempt.attempt_id);
    const bool may_be_earlier = attempt_.chosen().episode.phase().on_retry == plan::OnRetry::kContinue;
    if (!may_be_earlier) return {};
    return forget_homes_before(world_, claim_.run.run_id, claim_.phase.phase_id, claim_.attempt.number);
  }

  // When the phase ends before its next attempt begins, `pawl cancel`, `pawl skip` or gc removes HOME.
  bool goes_on_in_home(const store::Finished& finished) {
    return !store::is_terminal(finished.state) && !forgets_home_early() &&
           attempt_.chosen().episode.phase().on_retry == plan::OnRetry::kContinue;
  }

  WallTime now() const { return world_.clock.wall(); }

  // Only success removes what an agent has stored, and only for its own episode.
  void forget_journals() {
    for (const auto& one : attempt_.all())
      if (is_forgotten(one)) world_.journals.forget(episode_of(claim_, one.episode.number()));
  }
  bool is_forgotten(const ActiveEpisode& one) {
    if (forgets_all_journals()) return true;
    return &one == &attempt_.chosen();
  }

  Status judge_again() {
    PAWL_TRY(const auto again, world_.store.judge_again(claim_.lease, ends_.endings(), now()));
    ends_.recorded();
    for (const auto& row : again.warnings) observer_.budget_nears_its_end(claim_, row);
    PAWL_OK(attempt_.judge_again(again));
    observer_.judged_again(claim_, attempt_.judged_beside());
    return {};
  }

  // Looks for an overlap with accepted work. The transaction only looks at work accepted since.
  Result<store::Finished> commit(store::AttemptEnd& end) {
    const auto overlaps = [this](const std::string& a, const std::string& b) {
      return may_overlap(world_.objects, a, b);
    };
    const auto finish = [&] {
      return world_.store.finish(claim_.lease, ends_.endings(), end, overlaps, now());
    };
    PAWL_TRY(auto looked, look_beside(world_.store, attempt_.judged_row(), end.accepted_layer, 0, overlaps));
    if (!looked.overlapping) {
      end.looked_up_to = looked.up_to;
      PAWL_TRY(auto finished, finish());
      if (!finished.overlapping) return finished;
      looked.overlapping = std::move(finished.overlapping);
    }
    const auto agent_layer = end.agent_layer;
    PAWL_TRY(end, end_of({attempt_.judged().episode.overlap_signal(*looked.overlapping)}));
    end.agent_layer = agent_layer;
    return finish();
  }

  Result<store::AttemptEnd> end_of(const std::vector<gates::Signal>& extra) {
    for (auto& one : attempt_.all()) PAWL_OK(one.episode.objects_fit());
    ActiveEpisode& judged = attempt_.judged();
    PAWL_TRY(auto end, judged.episode.judge(extra, judged.lost));
    end.episodes = attempt_.rows();
    end.isolation_class = sandbox::isolation_class_of(claim_.run.backend);
    return end;
  }

  const World& world_;
  Observer& observer_;
  const store::Claim& claim_;
  Attempt& attempt_;
  Ends& ends_;
};

}  // namespace

Result<std::optional<Turn>> finish_attempt(const World& world, Observer& observer, const store::Claim& claim,
                                           Attempt& attempt, Ends& ends) {
  return AttemptFinish(world, observer, claim, attempt, ends).run();
}

}  // namespace pawl::executor
