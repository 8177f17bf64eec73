// Ends an attempt: judges it, and commits its verdict. A detail of this room.
#pragma once

#include <optional>

#include "base/error.h"
#include "executor/attempt.h"
#include "executor/ends.h"
#include "executor/executor.h"
#include "store/store.h"

namespace pawl::executor {

// Judges `attempt` and commits its end, with the endings that are not recorded yet. No value: the attempt passed,
// but work of other phases was accepted meanwhile. Then a round has begun, in which the gates judge the attempt
// again on top of that work. Each other phase can cause at most one round, because its work is accepted once.
// REQUIRES: Attempt::choose().
Result<std::optional<Turn>> finish_attempt(const World& world, Observer& observer, const store::Claim& claim,
                                           Attempt& attempt, Ends& ends);

}  // namespace pawl::executor
