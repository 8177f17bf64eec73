#include "agent/acp/people.h"

#include <utility>

#include "base/json.h"
#include "base/json_members.h"

namespace pawl::agent::acp {
namespace {

constexpr std::int64_t kAskEveryMs = 500;
constexpr std::int64_t kFailsMs = 30'000;  // then the request is rejected

// The server is busy, has no free connection, or has closed this one. It has no other status for a full journal.
bool is_for_now(ErrorKind kind) {
  return kind == ErrorKind::kUnavailable || kind == ErrorKind::kIndeterminate ||
         kind == ErrorKind::kExhausted;
}

}  // namespace

void People::attend(Client& client) {
  for (auto& question : client.take_questions()) {
    Open fresh{.question = std::move(question)};
    if (!is_over(client, fresh)) open_.push_back(std::move(fresh));
  }
  if (open_.empty() || ms_between(looked_at_, clock_.mono()) < kAskEveryMs) return;
  looked_at_ = clock_.mono();
  std::erase_if(open_, [&](Open& open) { return is_over(client, open); });
}

bool People::is_over(Client& client, Open& open) {
  const std::string& key = open.question.key;
  const auto answer = answer_to(open);
  if (answer) {
    open.is_asked = true;
    open.fails_since.reset();
    if (answer->empty()) return false;
    client.answer(key, *answer);
    return true;
  }
  const auto kind = answer.error().kind;
  // An earlier execution asked it, and another text is left of the same request: what is redacted has changed.
  if (kind == ErrorKind::kConflict && !std::exchange(open.is_asked, true)) return false;
  if (!open.fails_since) open.fails_since = clock_.mono();
  if (is_for_now(kind) && ms_between(*open.fails_since, clock_.mono()) < kFailsMs) return false;
  client.reject(key, answer.error().message);
  return true;
}

Result<std::string> People::answer_to(const Open& open) {
  if (!api_) {
    PAWL_TRY(api_, agent::Client::connect_as_agent());
  }
  const std::string target = "/v1/question?key=" + percent_encoded(open.question.key);
  const std::string body =
      JsonMembers().text("question", open.question.text).texts("choices", open.question.choices).object();
  const auto response =
      open.is_asked ? api_->ask_for_success("GET", target) : api_->ask_for_success("PUT", target, body);
  if (!response) {
    if (response.error().kind == ErrorKind::kIndeterminate) api_.reset();
    return std::unexpected(response.error());
  }
  PAWL_TRY(const auto json, parse_json(response->body));
  return json.is_object() ? text_in(json, "answer") : "";
}

}  // namespace pawl::agent::acp
