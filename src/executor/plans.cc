#include "executor/plans.h"

#include <algorithm>

#include "executor/start_run.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kKeptMax =
    16;  // more runs than one process works on at a time, and few enough to search

}  // namespace

std::shared_ptr<const plan::Plan> Plans::find(std::string_view run_id) {
  const auto found = std::ranges::find(entries_, run_id, &Entry::run_id);
  if (found == entries_.end()) return nullptr;
  std::rotate(found, found + 1, entries_.end());
  return entries_.back().plan;
}

std::shared_ptr<const plan::Plan> Plans::kept(std::string_view run_id) {
  const std::lock_guard guard(mutex_);
  return find(run_id);
}

Result<std::shared_ptr<const plan::Plan>> Plans::of(const store::RunRow& run) {
  const std::lock_guard guard(mutex_);
  if (auto plan = find(run.run_id)) return plan;
  // Runs of one plan, as many as one likes, cost one parse.
  const auto same = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.text == run.plan_text && entry.file == run.plan_file;
  });
  std::shared_ptr<const plan::Plan> plan;
  if (same != entries_.end()) {
    plan = same->plan;
  } else {
    PAWL_TRY(auto parsed, plan_of(run));
    plan = std::make_shared<const plan::Plan>(std::move(parsed));
  }
  if (entries_.size() == kKeptMax) entries_.erase(entries_.begin());
  entries_.push_back(
      {.run_id = run.run_id, .file = run.plan_file, .text = run.plan_text, .plan = std::move(plan)});
  return entries_.back().plan;
}

}  // namespace pawl::executor
