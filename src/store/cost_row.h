// The line of cost/sandbox.jsonl: exactly the keys of design section 5. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace pawl::store {

struct CostFacts {
  std::string workflow_id, run_id, gate_id, sandbox_run_id;
  std::string backend, gate_isolation_class;
  std::int64_t microvm_milliseconds = 0;  // written as seconds with three digits
  std::int64_t image_pull_bytes = 0;
  bool build_cache_hit = false;
  WallTime emitted_at;
};

// One JSON object, keys sorted, no spaces, no newline. Values that do not apply are 0 or false, never null.
std::string cost_row(const CostFacts& facts);

}  // namespace pawl::store
