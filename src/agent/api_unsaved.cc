// The part of Api for writes that cannot be saved (`durable` in the plan).
#include "agent/api.h"
#include "agent/responses.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kRememberedMax = 10'000;  // begun steps, spawned children
constexpr int kAccepted = 202, kNotSaved = 507;

// Whether the agent can go on with the response of an unsaved write. An unsaved question cannot be found, so
// it gets no answer. A prune must really remove the checkpoints.
bool stands_unsaved(Verb verb) {
  switch (verb) {
    case Verb::kContext:
    case Verb::kHeartbeat:
    case Verb::kLog:
    case Verb::kBegin:
    case Verb::kComplete:
    case Verb::kFail:
    case Verb::kSpawn:
    case Verb::kFinish:
    case Verb::kUsage:
      return true;
    case Verb::kSave:
    case Verb::kLoad:
    case Verb::kList:
    case Verb::kPrune:
    case Verb::kSteps:
    case Verb::kChildren:
    case Verb::kAsk:
    case Verb::kQuestion:
    case Verb::kAnswer:
      return false;
  }
  return false;
}

}  // namespace

void Api::settle(const Call& call, ApiResponse& answer, WallTime now) {
  if (answer.unsaved.empty() || only_reads(call.route.verb)) return;
  const std::string_view why = answer.unsaved;
  const bool goes_on = context_.best_effort && answers_unsaved(call, answer, now);
  if (!goes_on && answer.status != kNotSaved)
    answer = problem(kNotSaved, why == kDiskFull ? "no-space" : "not-saved",
                     std::string(why) + ": it was not saved");
  if (hooks_.on_unsaved) hooks_.on_unsaved(why, room_needed_);
}

bool Api::answers_unsaved(const Call& call, ApiResponse& answer, WallTime now) {
  if (call.route.verb == Verb::kSave) {
    const Checkpoint none{.id = *call.route.parameter("id"),
                          .metadata = Json::object(),
                          .fingerprint = fingerprint_,
                          .saved_at = rfc3339(now)};
    answer = json_response(checkpoint_text(none, nullptr));
  } else if (answer.status >= kNoSuccess || !stands_unsaved(call.route.verb) || !remember_unsaved(call)) {
    return false;
  }
  answer.status = kAccepted;
  if (answer.type.empty()) answer = json_response("{}", kAccepted);
  answer.headers = "Pawl-Kept: no\r\n";
  return true;
}

bool Api::remember_unsaved(const Call& call) {
  if (call.route.verb == Verb::kBegin) {
    auto step = step_of(call);
    if (!step || unsaved_steps_.size() >= kRememberedMax) return false;
    unsaved_steps_.insert_or_assign(step->key, *step);
  } else if (call.route.verb == Verb::kSpawn) {
    const auto child = child_of(call);
    if (!child || unsaved_children_.size() >= kRememberedMax) return false;
    unsaved_children_.insert_or_assign(child_id_of(*child), *child);
  }
  return true;
}

Status Api::complete_step(const std::string& key, const std::string& result, WallTime now) {
  auto done = journal_->complete_step(key, result, now);
  const auto begun = unsaved_steps_.find(key);
  if (done || done.error().kind != ErrorKind::kNotFound || begun == unsaved_steps_.end()) return done;
  PAWL_OK(journal_->begin_step(begun->second, now));
  PAWL_OK(journal_->complete_step(key, result, now));
  after_commit_.emplace_back([this, key] { unsaved_steps_.erase(key); });
  return {};
}

Status Api::fail_step(const std::string& key, const std::string& error, WallTime now) {
  auto done = journal_->fail_step(key, error, now);
  // The failed step may be begun again as if it had never begun.
  if (!done && done.error().kind == ErrorKind::kNotFound && unsaved_steps_.erase(key) > 0) return {};
  return done;
}

Status Api::finish_child(const std::string& child_id, const std::string& result, WallTime now) {
  auto done = journal_->finish_child(child_id, result, now);
  const auto spawned = unsaved_children_.find(child_id);
  if (done || done.error().kind != ErrorKind::kNotFound || spawned == unsaved_children_.end()) return done;
  PAWL_OK(journal_->spawn(spawned->second, context_.children_max, now));
  PAWL_OK(journal_->finish_child(child_id, result, now));
  after_commit_.emplace_back([this, child_id] { unsaved_children_.erase(child_id); });
  return {};
}

}  // namespace pawl::agent
