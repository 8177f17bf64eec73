// Ends an attempt: judges it, and commits its verdict. A detail of this room.
#pragma once

#include <optional>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/ends.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// Judges `attempt` and commits its end, with the endings that are not recorded yet. No value: others were
// accepted meanwhile, and a round began in which the gates judge it again, on top of their work. That happens
// at most once for each other phase, because each is accepted once. REQUIRES: Attempt::choose().
Result<std::optional<Turn>> finish_attempt(const World& world, Observer& observer, const store::Claim& claim,
                                           Attempt& attempt, Ends& ends);

}  // namespace pawl::executor
