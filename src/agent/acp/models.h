// The choice of a model in a session, as its agent offers it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/printed.h"

namespace pawl::agent::acp {

struct Models {
  std::string option;  // the option of session/set_config_option; "": session/set_model, which is older
  std::string current;
  std::vector<std::string> offered;
  bool is_too_long = false;  // the list that would have it; all else is empty then
};
// `opened`: the result of session/new, /load or /resume. No value: the agent offers no choice.
std::optional<Models> models_of(const PrintedObject& opened);

}  // namespace pawl::agent::acp
