#include "executor/plans.h"

#include <algorithm>

#include "executor/start_run.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kKeptMax =
    16;  // more runs than one process works on at a time, and few enough to search

}  // namespace

std::shared_ptr<const plan::Plan> Plans::find(std::string_view run_id) {
  const auto found = std::ranges::find(entries_, run_id, &Entry::first);
  if (found == entries_.end()) return nullptr;
  std::rotate(found, found + 1, entries_.end());
  return entries_.back().second;
}

std::shared_ptr<const plan::Plan> Plans::kept(std::string_view run_id) {
  const std::lock_guard guard(mutex_);
  return find(run_id);
}

Result<std::shared_ptr<const plan::Plan>> Plans::of(const store::RunRow& run) {
  const std::lock_guard guard(mutex_);
  if (auto plan = find(run.run_id)) return plan;
  PAWL_TRY(auto parsed, plan_of(run));
  if (entries_.size() == kKeptMax) entries_.erase(entries_.begin());
  entries_.emplace_back(run.run_id, std::make_shared<const plan::Plan>(std::move(parsed)));
  return entries_.back().second;
}

}  // namespace pawl::executor
