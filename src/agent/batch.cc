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

void Batch::add(PendingRequest& request) {
  ready_.push_back(&request);
  if (!std::exchange(woken_, true)) wake_();
}

void Batch::run() {
  woken_ = false;
  std::vector<Group> groups;
  std::vector<PendingRequest*> done;
  const MonoTime end{clock_.mono().micros + kSliceMicros};
  for (auto& request : std::exchange(ready_, {})) {
    if (!sort_into(groups, *request)) done.push_back(request);
  }
  for (auto& group : groups) {
    const std::size_t ran = run_group(group, end);
    done.insert(done.end(), group.requests.begin(),
                group.requests.begin() + static_cast<std::ptrdiff_t>(ran));
    for (std::size_t i = ran; i < group.requests.size(); ++i) add(*group.requests[i]);
  }
  groups.clear();  // an episode without users may be closed now
  const WallTime now = clock_.wall();
  for (auto* request : done) {
    if (const auto api = std::exchange(request->api, nullptr))
      api->settle(request->call, request->answer, now);
    if (request->answer.answered && on_answered) on_answered(request->key);
    std::exchange(request->done, nullptr)();
  }
}

// False: the request has its response already.
bool Batch::sort_into(std::vector<Group>& groups, PendingRequest& request) {
  if (!request.api) {
    auto api = journals_.find(request.key);
    if (!api) {
      request.answer = std::move(api).error();
      return false;
    }
    request.api = std::move(*api);
  }
  auto group = std::ranges::find(groups, request.api, &Group::api);
  if (group == groups.end()) group = groups.insert(groups.end(), Group{.api = request.api});
  group->requests.push_back(&request);
  return true;
}

std::size_t Batch::run_group(Group& group, MonoTime end) {
  const WallTime now = clock_.wall();
  std::size_t ready = 0;
  do begin_save(*group.requests[ready++], now);
  while (ready < group.requests.size() && clock_.mono() < end);
  const bool alone = ready == 1;
  if (const auto begun = group.api->begin_group(alone); !begun) {
    for (std::size_t i = 0; i < ready; ++i)
      run_alone(*group.requests[i], begun.error(), why_not_committed(begun.error()), now);
    return ready;
  }
  std::size_t ran = 0;
  do {
    PendingRequest& request = *group.requests[ran++];
    if (request.call.route.verb != Verb::kSave)
      request.answer = group.api->handle(request.call, now);
    else if (request.saving)
      request.answer = group.api->finish_save(request.call, *request.saving, now);
  } while (ran < ready && clock_.mono() < end);
  const ApiResponse& first = group.requests.front()->answer;
  const bool refused = first.status >= kNoSuccess && first.unsaved.empty();
  if (alone && refused && group.api->must_roll_back()) {
    group.api->roll_back();
    group.requests.front()->saving.reset();
    return ran;
  }
  if (const auto committed = group.api->commit(); !committed) {
    // SQLite rolls back a whole transaction when one of its writes finds the disk full. commit() reports only
    // the rollback, so the reason comes from the responses.
    std::string_view why = why_not_committed(committed.error());
    for (std::size_t i = 0; i < ran && why.empty(); ++i) why = group.requests[i]->answer.unsaved;
    for (std::size_t i = 0; i < ran; ++i) run_alone(*group.requests[i], committed.error(), why, now);
  }
  for (std::size_t i = 0; i < ran; ++i) group.requests[i]->saving.reset();
  return ran;
}

// Begins a save whose payload came as a body, so it is small. Runs outside the group, as Api::begin_save()
// requires.
void Batch::begin_save(PendingRequest& request, WallTime now) {
  if (request.call.route.verb != Verb::kSave || request.saving) return;
  auto saving =
      request.api->begin_save(request.call, static_cast<std::int64_t>(request.call.body.size()), now);
  if (!saving) {
    request.answer = problem(saving.error());
  } else if (const auto appended = (*saving)->append(request.call.body); !appended) {
    request.answer = problem(appended.error());
  } else {
    request.saving = std::move(*saving);
  }
}

// Responds after the group failed. A read needs no group. In degraded mode each write is retried in a group
// of its own. A write without changes then succeeds as usual; another one is accepted unsaved.
void Batch::run_alone(PendingRequest& request, const Error& error, std::string_view why, WallTime now) {
  const Verb verb = request.call.route.verb;
  const bool refused_before = verb == Verb::kSave && !request.saving;
  if (refused_before) return;
  if (only_reads(verb)) {
    request.answer = request.api->handle(request.call, now);
    return;
  }
  // Not retried: a saved payload is lost with the group, and a log line is already written.
  const bool once = verb == Verb::kSave || verb == Verb::kLog;
  if (why.empty() || once || !request.api->goes_on_unsaved() || !request.api->begin_group()) {
    const bool written =
        verb == Verb::kLog && request.answer.status < kNoSuccess && request.api->goes_on_unsaved();
    if (!written) request.answer = not_committed(error, why);
    return;
  }
  request.answer = request.api->handle(request.call, now);
  const auto committed = request.api->commit();
  if (committed) return;
  const std::string_view reason = why_not_committed(committed.error());
  if (reason.empty() || request.answer.status >= kNoSuccess)
    request.answer = not_committed(committed.error(), why);
  else
    request.answer.unsaved = reason;
}

}  // namespace pawl::agent
