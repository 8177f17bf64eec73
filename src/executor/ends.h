// What ended and is not recorded yet: it goes with the next marker or the end of the attempt, in one
// transaction. A detail of this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/recovery.h"
#include "executor/tries.h"
#include "store/store.h"

namespace pawl::executor {

class Ends {
 public:
  // All must outlive it.
  Ends(const World& world, Observer& observer, const store::Claim& claim)
      : world_(world), observer_(observer), claim_(claim) {}

  // A result: the try has it from now on. kForged: what the step saw is not as it was kept; unless it was an
  // agent, its marker is closed.
  Status take(Try& one, const store::StepStart& start, sandbox::SandboxRun run);
  // No result: the marker is to be closed as what `recovery` says.
  Status lose(Try& one, const store::StepStart& start, Recovery recovery);
  // A decision that closes nothing. Durable when it returns.
  Status note(const store::StepStart& start, Recovery recovery);

  // For the transaction that records them; recorded() after it.
  const std::optional<store::StepEnd>& result() const { return result_; }
  const std::optional<store::ResumeDecision>& resume() const { return resume_; }
  // The spools are not needed any more.
  void recorded();
  // Records them alone: of several episodes more than one step may end before the next marker.
  Status record();

 private:
  Status unless_forged(Try& one, const store::StepStart& start);
  WallTime now() const { return world_.clock.wall(); }
  store::ResumeDecision decision(const store::StepStart& start, Recovery recovery) const;
  // What the agent told and nobody wrote down yet.
  Result<store::Told> told_of(Try& one, const store::StepStart& start) const;

  const World& world_;
  Observer& observer_;
  const store::Claim& claim_;
  std::optional<store::StepEnd> result_;         // of the last step
  std::optional<store::ResumeDecision> resume_;  // that closes a lost step
  std::vector<std::string> unforgotten_, lost_;  // their steps
};

}  // namespace pawl::executor
