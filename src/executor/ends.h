// Results and losses of steps that are not recorded yet. They are recorded with the next marker or with the
// end of the attempt, in one transaction. A detail of this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/recovery.h"
#include "store/store.h"

namespace pawl::executor {

// Why a step has no result, and what is left of it.
struct Loss {
  Recovery recovery = Recovery::kReExecute;
  store::RecoveryFound found = store::RecoveryFound::kNothing;
  std::optional<store::Wait> wait;                // present with kWait, and only then
  std::optional<supervisor::KeptWork> kept;       // an agent's work, from which its next execution continues
  std::optional<store::Reported::Event> unsaved;  // see unsaved_event()
};

class Ends {
 public:
  // All arguments must outlive it.
  Ends(const World& world, Observer& observer, const store::Claim& claim)
      : world_(world), observer_(observer), claim_(claim) {}

  // Takes a result: from now on the attempt of `one` has it. kForged: an object that the step saw has changed since
  // it was stored. The marker is then closed, unless the step was an agent's.
  Status take(ActiveEpisode& one, const store::StepStart& start, sandbox::SandboxRun run);
  // The step has no result: its marker is closed with the decision of `loss`.
  Status lose(ActiveEpisode& one, const store::StepStart& start, Loss loss);
  // Records a decision that closes no marker. Durable when it returns.
  Status note(const store::StepStart& start, Recovery recovery, store::RecoveryFound found);

  // The ends to record in the next transaction. Call recorded() after it.
  const store::Endings& endings() const { return endings_; }
  // Drops the values and forgets the spools, which are not needed any more.
  void recorded();
  // Records the ends without a marker: with several episodes, more than one step may end before the next marker.
  // Durable.
  Status record();

 private:
  Status unless_forged(ActiveEpisode& one, const store::StepStart& start);
  WallTime now() const { return world_.clock.wall(); }
  // The events and usage that the agent reported and that are not recorded yet.
  Result<store::Reported> reported_of(ActiveEpisode& one, const store::StepStart& start) const;

  const World& world_;
  Observer& observer_;
  const store::Claim& claim_;
  store::Endings endings_;                       // not recorded yet
  std::vector<std::string> unforgotten_, lost_;  // run ids of ended and of lost steps
};

}  // namespace pawl::executor
