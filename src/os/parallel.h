// Work that is the same for many things, on all processors.
#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace pawl::os {

// Calls `work` with each number below `count`, from some threads at once, in no order. Returns when no call
// is left. After an error no new call begins; the error is the first one's. What `work` throws is thrown to
// the caller, when no call is left.
Status for_each_in_parallel(std::size_t count, const std::function<Status(std::size_t)>& work);

}  // namespace pawl::os
