// Requests that are ready at the same time become durable together: one group and one commit for each
// episode.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "agent/api.h"
#include "agent/served_journals.h"
#include "os/clock.h"

namespace pawl::agent {

// A request in progress. Its owner keeps it alive until `done` is called.
struct PendingRequest {
  Call call;
  EpisodeKey key;
  // Set for a save whose payload was appended as it arrived. Otherwise the payload is the call's body.
  std::shared_ptr<Api> api;
  std::unique_ptr<Checkpoints::Saving> saving;

  ApiResponse answer;
  std::move_only_function<void()> done;  // the response may be sent
};

class Batch {
 public:
  // `wake` arranges that run() is called soon, after the work that is ready now. A connection adds one
  // request at a time, so each connection has a turn in each run.
  Batch(ServedJournals& journals, const os::Clock& clock, std::function<void()> wake)
      : journals_(journals), clock_(clock), wake_(std::move(wake)) {}

  void add(PendingRequest& request);
  void run();
  // Called when a question of `key` has just been answered.
  std::function<void(const EpisodeKey& key)> on_answered;

 private:
  struct Group {
    std::shared_ptr<Api> api;
    std::vector<PendingRequest*> requests;
  };
  bool sort_into(std::vector<Group>& groups, PendingRequest& request);
  std::size_t run_group(Group& group, MonoTime end);  // returns how many of its requests ran
  static void begin_save(PendingRequest& request, WallTime now);
  static void run_alone(PendingRequest& request, const Error& error, std::string_view why, WallTime now);

  ServedJournals& journals_;
  const os::Clock& clock_;
  const std::function<void()> wake_;
  std::deque<PendingRequest*> ready_;
  bool woken_ = false;
};

}  // namespace pawl::agent
