// The other side of a client of the Agent Client Protocol: an agent that says what a test gives it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/acp/client.h"
#include "agent/usage_reader.h"
#include "base/json.h"

namespace pawl::agent::acp {

inline constexpr char kCapable[] =
    R"({"protocolVersion":1,"agentInfo":{"name":"tool","version":"2"},"agentCapabilities":{"loadSession":true}})";

// An agent, and what it was asked.
class Agent {
 public:
  explicit Agent(Session before = {}, std::string model = {}, bool asks_person = false)
      : client({.prompt = "fix it",
                .model = std::move(model),
                .folder = "/work",
                .before = std::move(before),
                .asks_person = asks_person}) {}

  Client client;

  Json next() {
    unread_ += client.take_messages();
    const auto end = unread_.find('\n');
    if (end == std::string::npos) return {};
    auto out = parse_json(unread_.substr(0, end));
    EXPECT_TRUE(out) << unread_;
    unread_.erase(0, end + 1);
    return out.value_or(Json());
  }
  void say(std::string_view line) { client.hear(std::string(line) + "\n"); }
  void answer(const Json& request, std::string_view result) {
    say(R"({"jsonrpc":"2.0","id":)" + request["id"].dump() + R"(,"result":)" + std::string(result) + "}");
  }
  void refuse(const Json& request, std::string_view error) {
    say(R"({"jsonrpc":"2.0","id":)" + request["id"].dump() + R"(,"error":)" + std::string(error) + "}");
  }
  void update(std::string_view update, std::string_view session = "s1") {
    say(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":")" + std::string(session) +
        R"(","update":)" + std::string(update) + "}}");
  }
  // Until the goal is there. Returns its request.
  Json open(std::string_view session = R"({"sessionId":"s1"})") {
    answer(next(), kCapable);
    client.take_lines();
    answer(next(), session);
    return next();
  }
  std::string end(const Json& prompt, const std::string& more = "", std::string_view reason = "end_turn") {
    answer(prompt, R"({"stopReason":")" + std::string(reason) + "\"" + more + "}");
    return client.take_lines();
  }
  std::vector<Usage> usage() const { return usage_reader("acp")(client.last_line(), "of the attempt"); }

 private:
  std::string unread_;
};

}  // namespace pawl::agent::acp
