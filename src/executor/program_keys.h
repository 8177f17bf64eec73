// The keys of agent programs. At the start of a run, an agent with a profile gets a credential: the first of the profile's
// keys that is set here. It is as if the plan had said `credentials: {NAME: {env: NAME}}`. Reads the environment.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace pawl::executor {

struct LackingKey {
  plan::Place at;  // the place of `use`
  std::string phase_id, key;
  std::string message;  // why the program would have no key, and what sets one
};
// The message with `way`, which takes the key from a variable of another name.
std::string message_with_way(const LackingKey& lacking, const std::string& way);
// The same for the writer of a plan, with the phase.
plan::Finding finding_of(const LackingKey& lacking);
// The error of lacks_credential() in credentials.h.
std::unexpected<Error> no_key(std::string message);

struct AddedKeys {
  // Each attempt of these phases would fail at its first call. Two other cases are in `remarks`: a server at
  // `base_url` may ask for no key, and a profile of the user with a login may have a way of its own.
  std::vector<LackingKey> lacking;   // in the order of the plan
  std::vector<std::string> remarks;  // for people, each once
};
// Gives keys to the phases of plan.wanted_keys, and takes those that got one out of it.
AddedKeys add_keys(plan::Plan& plan);

}  // namespace pawl::executor
