#include "agent/batch.h"

#include <algorithm>
#include <utility>

#include "agent/answers.h"

namespace pawl::agent {
namespace {

// After so long a group is committed, and the rest waits for another turn: nobody waits longer because others
// ask for much.
constexpr std::int64_t kSliceMicros = 5'000;
constexpr int kNoSpace = 507;

// Every write of a group that could not be committed.
Answer not_committed(const Error& error, bool full) {
  return full ? problem(507, "no-space", error.message) : problem(503, "unavailable", error.message);
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
  groups.clear();  // an episode that nobody uses may be closed
  for (auto* job : done) {
    job->api.reset();
    if (job->answer.answered && on_answered) on_answered(job->key);
    std::exchange(job->done, nullptr)();
  }
}

// False when it has its answer already.
bool Batch::sort_into(std::vector<Group>& groups, Job& job) {
  if (!job.api) {
    auto api = episodes_.find(job.key);
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
  if (const auto begun = group.api->begin_group(); !begun) {
    const bool full = begun.error().kind == ErrorKind::kExhausted;
    for (std::size_t i = 0; i < ready; ++i) answer_alone(*group.jobs[i], begun.error(), full, now);
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
  if (const auto committed = group.api->commit(); !committed) {
    // SQLite takes a whole transaction back when one of its writes finds the disk full; commit() only says
    // that it did.
    const bool full =
        committed.error().kind == ErrorKind::kExhausted ||
        std::ranges::any_of(group.jobs, [](const Job* job) { return job->answer.status == kNoSpace; });
    for (std::size_t i = 0; i < ran; ++i) answer_alone(*group.jobs[i], committed.error(), full, now);
  }
  for (std::size_t i = 0; i < ran; ++i) group.jobs[i]->saving.reset();
  return ran;
}

// Its payload came as a body: it is not large. Outside of the group, as begin_save() wants it.
void Batch::begin_save(Job& job, WallTime now) {
  if (job.call.route.verb != Verb::kSave || job.saving) return;
  auto saving = job.api->begin_save(job.call, now);
  if (!saving) {
    job.answer = problem(saving.error());
  } else if (const auto appended = (*saving)->append(job.call.body); !appended) {
    job.answer = problem(appended.error());
  } else {
    job.saving = std::move(*saving);
  }
}

// The group failed. What only reads needs none.
void Batch::answer_alone(Job& job, const Error& error, bool full, WallTime now) {
  const bool refused_before = job.call.route.verb == Verb::kSave && !job.saving;
  if (refused_before) return;
  job.answer = only_reads(job.call.route.verb) ? job.api->handle(job.call, now) : not_committed(error, full);
}

}  // namespace pawl::agent
