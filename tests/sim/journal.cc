#include "sim/journal.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"

namespace pawl::sim {
namespace {

agent::Call call_of(std::string_view method, const std::string& id, const std::string& process) {
  auto route = agent::find_route(method, "/v1/checkpoint?id=" + id, false);
  World::require(route.has_value(), "an agent's request is none");
  agent::Call call{.route = *std::move(route), .session = process};
  call.headers.session = process;
  return call;
}

}  // namespace

std::vector<agent::Event> Journal::work(const agent::Context& context, const std::string& process, Dice& dice,
                                        WallTime now) {
  const auto live = [&] {
    auto episode = World::must(agent::Journal::open(path_, agent::Journal::Access::kReadWrite));
    agent::Journal* const reported = episode.get();
    agent::Api api(std::move(episode), context, {});
    expected_.clear();
    goes_on_ = !saved_.empty();
    const std::string id = dice.percent(30) ? "main-0-" + process : "main-0";
    load(api, process, id, now);
    if (dice.percent(80)) save(api, process, id, now);  // otherwise it is killed before
    return World::must(reported->reported_since(told_seq_));
  };
  const auto reported = live();
  told_seq_ = reported.last_seq;
  std::vector<std::string> events;
  for (const auto& event : reported.events)
    events.push_back(event.event + " " + text_in(event.details, event.event == "resumed" ? "loaded" : "id"));
  World::require(events == expected_,
                 fmt::format("what is reported of an agent is not what it did: {}; but: {}",
                             fmt::join(events, ", "), fmt::join(expected_, ", ")));
  return reported.events;
}

void Journal::load(agent::Api& api, const std::string& process, const std::string& id, WallTime now) {
  const auto answer = api.handle(call_of("GET", id, process), now);
  if (const auto found = saved_.find(id); found != saved_.end()) {
    World::require(answer.status == 200 && answer.body == found->second,
                   "an agent does not find what it saved as " + id);
    expected_.push_back("resumed " + id);
    goes_on_ = false;
    return;
  }
  World::require(answer.status == 404, "an agent finds what nobody saved as " + id);
  if (saved_.empty()) return;
  const Json json = World::must(parse_json(answer.body));
  World::require(list_in(json, "known").size() == saved_.size(),
                 "an agent is not reported which ids there are");
  expected_.push_back("checkpoint_not_found " + id);
}

void Journal::save(agent::Api& api, const std::string& process, const std::string& id, WallTime now) {
  const std::string payload = "saved by " + process;
  const auto call = call_of("PUT", id, process);
  const auto saving = World::must(api.begin_save(call, static_cast<std::int64_t>(payload.size()), now));
  World::require(saving->append(payload).has_value(), "an agent can't save");
  World::require(api.finish_save(call, *saving, now).status < agent::kNoSuccess, "an agent can't save");
  saved_[id] = payload;
  if (std::exchange(goes_on_, false)) expected_.emplace_back("resumed ");
}

}  // namespace pawl::sim
