// Parsed plans, shared by the executors of a process. A run never changes its plan, so what its text parses
// to may be kept.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "store/store.h"

namespace pawl::executor {

class Plans {  // thread-safe
 public:
  // nullptr when it is not kept.
  std::shared_ptr<const plan::Plan> kept(std::string_view run_id);
  // Parses it when it is not kept; who asks at the same time waits for that. kCorrupt: see plan_of().
  Result<std::shared_ptr<const plan::Plan>> of(const store::RunRow& run);

 private:
  struct Entry {
    std::string run_id, file, text;  // file and text: what it was parsed from
    std::shared_ptr<const plan::Plan> plan;
  };
  std::shared_ptr<const plan::Plan> find(std::string_view run_id);

  std::mutex mutex_;
  std::vector<Entry> entries_;  // the one that was asked for last comes last; guarded by mutex_
};

}  // namespace pawl::executor
