#include "agent/batch.h"

#include <algorithm>
#include <utility>

#include "agent/responses.h"

namespace pawl::agent {
namespace {

// After this time a group is committed, and its other requests wait for the next turn. So a large batch
// delays other clients only briefly.
constexpr std::int64_t kSliceMicros = 5'000;

// The response to each write of a group that was not committed. `why`: kDiskFull, kIoError, or "" for another
// reason.
ApiResponse not_committed(const Error& error, std::string_view why) {
  if (why.empty()) return problem(503, "unavailable", error.message);
  ApiResponse out = problem(507, why == kDiskFull ? "no-space" : "not-saved", error.message);
  out.unsaved = why;
  return out;
}

std::string_view why_not_committed(const Error& error) {
  return error.kind == ErrorKind::kExhausted ? kDiskFull : why_unsaved(error);
}

}  // namespace

void Batch::add(Job& job) {
  ready_.push_back(&job);
  if (!std::exchange(woken_, true)) wake_();
}

void Batch::run() {
  woken_ = false;
  std::vector<Group> groups;
  std::vector<Job*> done;
  const MonoTime end{clock_.mono().micros + kSliceMicros};
  for (auto& job : std::exchange(ready_, {})) {
    if (!sort_into(groups, *job)) done.push_back(job);
  }
  for (auto& group : groups) {
    const std::size_t ran = run_group(group, end);
    done.insert(done.end(), group.jobs.begin(), group.jobs.begin() + static_cast<std::ptrdiff_t>(ran));
    for (std::size_t i = ran; i < group.jobs.size(); ++i) add(*group.jobs[i]);
  }
  groups.clear();  // an episode without users may be closed now
  const WallTime now = clock_.wall();
  for (auto* job : done) {
    if (const auto api = std::exchange(job->api, nullptr)) api->settle(job->call, job->answer, now);
    if (job->answer.answered && on_answered) on_answered(job->key);
    std::exchange(job->done, nullptr)();
  }
}

// False: the job has its response already.
bool Batch::sort_into(std::vector<Group>& groups, Job& job) {
  if (!job.api) {
    auto api = journals_.find(job.key);
    if (!api) {
      job.answer = std::move(api).error();
      return false;
    }
    job.api = std::move(*api);
  }
  auto group = std::ranges::find(groups, job.api, &Group::api);
  if (group == groups.end()) group = groups.insert(groups.end(), Group{.api = job.api});
  group->jobs.push_back(&job);
  return true;
}

std::size_t Batch::run_group(Group& group, MonoTime end) {
  const WallTime now = clock_.wall();
  std::size_t ready = 0;
  do begin_save(*group.jobs[ready++], now);
  while (ready < group.jobs.size() && clock_.mono() < end);
  const bool alone = ready == 1;
  if (const auto begun = group.api->begin_group(alone); !begun) {
    for (std::size_t i = 0; i < ready; ++i)
      run_alone(*group.jobs[i], begun.error(), why_not_committed(begun.error()), now);
    return ready;
  }
  std::size_t ran = 0;
  do {
    Job& job = *group.jobs[ran++];
    if (job.call.route.verb != Verb::kSave)
      job.answer = group.api->handle(job.call, now);
    else if (job.saving)
      job.answer = group.api->finish_save(job.call, *job.saving, now);
  } while (ran < ready && clock_.mono() < end);
  const ApiResponse& first = group.jobs.front()->answer;
  const bool refused = first.status >= kNoSuccess && first.unsaved.empty();
  if (alone && refused && group.api->must_roll_back()) {
    group.api->roll_back();
    group.jobs.front()->saving.reset();
    return ran;
  }
  if (const auto committed = group.api->commit(); !committed) {
    // SQLite rolls back a whole transaction when one of its writes finds the disk full. commit() reports only
    // the rollback, so the reason comes from the responses.
    std::string_view why = why_not_committed(committed.error());
    for (std::size_t i = 0; i < ran && why.empty(); ++i) why = group.jobs[i]->answer.unsaved;
    for (std::size_t i = 0; i < ran; ++i) run_alone(*group.jobs[i], committed.error(), why, now);
  }
  for (std::size_t i = 0; i < ran; ++i) group.jobs[i]->saving.reset();
  return ran;
}

// Begins a save whose payload came as a body, so it is small. Runs outside the group, as Api::begin_save()
// requires.
void Batch::begin_save(Job& job, WallTime now) {
  if (job.call.route.verb != Verb::kSave || job.saving) return;
  auto saving = job.api->begin_save(job.call, static_cast<std::int64_t>(job.call.body.size()), now);
  if (!saving) {
    job.answer = problem(saving.error());
  } else if (const auto appended = (*saving)->append(job.call.body); !appended) {
    job.answer = problem(appended.error());
  } else {
    job.saving = std::move(*saving);
  }
}

// Responds after the group failed. A read needs no group. In degraded mode each write is retried in a group
// of its own. A write without changes then succeeds as usual; another one is accepted unsaved.
void Batch::run_alone(Job& job, const Error& error, std::string_view why, WallTime now) {
  const Verb verb = job.call.route.verb;
  const bool refused_before = verb == Verb::kSave && !job.saving;
  if (refused_before) return;
  if (only_reads(verb)) {
    job.answer = job.api->handle(job.call, now);
    return;
  }
  // Not retried: a saved payload is lost with the group, and a log line is already written.
  const bool once = verb == Verb::kSave || verb == Verb::kLog;
  if (why.empty() || once || !job.api->goes_on_unsaved() || !job.api->begin_group()) {
    const bool written = verb == Verb::kLog && job.answer.status < kNoSuccess && job.api->goes_on_unsaved();
    if (!written) job.answer = not_committed(error, why);
    return;
  }
  job.answer = job.api->handle(job.call, now);
  const auto committed = job.api->commit();
  if (committed) return;
  const std::string_view reason = why_not_committed(committed.error());
  if (reason.empty() || job.answer.status >= kNoSuccess)
    job.answer = not_committed(committed.error(), why);
  else
    job.answer.unsaved = reason;
}

}  // namespace pawl::agent
