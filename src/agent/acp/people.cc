#include "agent/acp/people.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_members.h"

namespace pawl::agent::acp {
namespace {

constexpr std::int64_t kAskEveryMs = 500;

}  // namespace

void People::attend(Client& client) {
  for (const auto& question : client.take_questions()) {
    if (std::ranges::find(open_, question.key) != open_.end()) continue;  // one answer is for both
    const std::string body =
        JsonMembers().text("question", question.text).texts("choices", question.choices).object();
    if (!tell(client, question.key, answer_to("PUT", question.key, body))) open_.push_back(question.key);
  }
  if (open_.empty() || ms_between(looked_at_, clock_.mono()) < kAskEveryMs) return;
  looked_at_ = clock_.mono();
  std::erase_if(open_, [&](const std::string& key) { return tell(client, key, answer_to("GET", key)); });
}

// The server closes an idle connection when another client wants its place. Both requests can be made again.
Result<std::string> People::answer_to(std::string_view method, const std::string& key,
                                      const std::string& body) {
  const std::string target = "/v1/question?key=" + percent_encoded(key);
  const bool is_new = !api_;
  if (is_new) {
    PAWL_TRY(api_, agent::Client::connect_as_agent());
  }
  const auto response = api_->ask_for_success(method, target, body);
  if (!response) {
    api_.reset();
    if (is_new || response.error().kind != ErrorKind::kIndeterminate)
      return std::unexpected(response.error());
    return answer_to(method, key, body);
  }
  PAWL_TRY(const auto json, parse_json(response->body));
  return json.is_object() ? text_in(json, "answer") : "";
}

bool People::tell(Client& client, const std::string& key, const Result<std::string>& answer) {
  if (!answer)
    client.reject(key, answer.error().message);
  else if (!answer->empty())
    client.answer(key, *answer);
  return !answer || !answer->empty();
}

}  // namespace pawl::agent::acp
