// The one table of legal phase transitions, and the one function that applies it. Every verb that writes
// phases.state uses apply(). Pure.
#pragma once

#include "base/error.h"
#include "store/rows.h"

namespace pawl::store {

enum class PhaseEvent {
  kClaim,                 // QUEUED, EXECUTING -> EXECUTING
  kAttemptPassed,         // EXECUTING -> COMPLETE, passed
  kAttemptRetryable,      // EXECUTING -> EXECUTING (no lease), or when no attempt is left -> FAILED, escalate
  kAttemptUnrecoverable,  // EXECUTING -> FAILED, failed_unrecoverable
  kAttemptEscalate,       // EXECUTING -> FAILED, escalate
  kReplanned,             // EXECUTING -> EXECUTING (no lease), a new revision
  kDoctorSkip,            // EXECUTING -> SKIPPED, skipped
  kRunAborted,            // QUEUED, EXECUTING -> CANCELLED, cancelled
  kTierStopped,           // QUEUED -> SKIPPED, skipped
  kOperatorRetry,         // FAILED, SKIPPED, CANCELLED -> QUEUED
  kOperatorSkip,          // QUEUED, EXECUTING, FAILED -> SKIPPED, skipped
  kOperatorCancel,        // QUEUED, EXECUTING -> CANCELLED, cancelled
  kOperatorApprove,       // FAILED, SKIPPED, CANCELLED -> COMPLETE, approved
};

struct Transition {
  PhaseState state;
  PhaseOutcome outcome;
};

// kInvalid when `event` is not legal in the phase's state.
Result<Transition> apply(const PhaseRow& phase, PhaseEvent event);

// State of a run whose phases are all terminal: FAILED when any phase failed, else CANCELLED when any was
// cancelled, else COMPLETE. REQUIRES: every phase is terminal.
RunState run_state_of(const std::vector<PhaseRow>& phases);

}  // namespace pawl::store
