// An agent's request for a permission (session/request_permission of the Agent Client Protocol) and its answer. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/printed.h"

namespace pawl::agent::acp {

// A question to a person, as the API for agents takes it (docs/agent-api.yaml).
struct Question {
  std::string key;  // the same for the same request, also in a later execution
  std::string text;
  std::vector<std::string> choices;
};

struct ToolCall {
  std::string title;
  std::string details;  // its input and content, as JSON; of a part with more than 64 KiB its size and hash
};

// Remembers the tool calls at work, as the agent reported them. A request for a permission may name a call by its id alone.
class SeenCalls {
 public:
  void see(const PrintedObject& update);  // a tool_call or a tool_call_update
  // `call`: of a request. The result has its parts, and those that it leaves out as the agent reported them before.
  ToolCall whole(const PrintedObject& call) const;

 private:
  struct Seen {
    std::string title, input, content;
  };
  static void add(Seen& seen, const PrintedObject& call);

  std::map<std::string, Seen> calls_;
};

struct Permission {
  struct Option {
    std::string id;
    std::string choice;  // its kind; of a second option of this kind with `_2`
  };
  std::string request;  // the id of the agent's request, as JSON
  ToolCall call;        // with a title in any case
  std::vector<Option> options;
  Question question;

  // The first option whose choice begins like this; null: the agent offers none.
  const Option* of_choice(std::string_view begin) const;
  // The option that allows this request alone, else the first that allows more; null: none. Some agents begin a mode
  // in which they ask no more when they hear the latter.
  const Option* allowing() const;
  const Option* rejecting() const;
  // The message that answers the request. Null: the outcome is `cancelled`.
  std::string response(const Option* chosen) const;
};

Permission permission_of(const PrintedObject& request, const std::string& id, const SeenCalls& seen);

}  // namespace pawl::agent::acp
