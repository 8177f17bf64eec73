// An agent's request for a permission (session/request_permission of the Agent Client Protocol) and its answer. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/acp/progress.h"
#include "agent/printed.h"

namespace pawl::agent::acp {

// A question to a person, as the API for agents takes it (docs/agent-api.yaml).
struct Question {
  std::string key;  // the same for the same request, also in a later execution
  std::string text;
  std::vector<std::string> choices;  // kinds of options
};

struct Permission {
  struct Option {
    std::string id;
    std::string kind;  // allow_once, allow_always, reject_once or reject_always
  };
  std::string request;  // the id of the agent's request, as JSON
  std::string title;    // a text for people, never empty
  std::vector<Option> options;
  Question question;

  // The first option whose kind begins like this; null: the agent offers none.
  const Option* of_kind(std::string_view begin) const;
  // The message that answers the request. Null: the outcome is `cancelled`.
  std::string response(const Option* chosen) const;
};

// `known`: the agent may have told of the tool call before, and name only its id here.
Permission permission_of(const PrintedObject& request, const std::string& id, const Progress& known);

}  // namespace pawl::agent::acp
