// Runs the same work for many items on all processors.
#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace pawl::os {

// Calls `work` with each number below `count`, from several threads, in no order. Returns when no call is
// running any more. After an error no new call begins, and the first error is returned. An exception of
// `work` is rethrown in the caller after all calls have ended.
Status for_each_in_parallel(std::size_t count, const std::function<Status(std::size_t)>& work);

}  // namespace pawl::os
