// Questions of agents to people in attempts that are not over.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/reports.h"
#include "base/json.h"
#include "secrets/redact.h"
#include "views/views.h"

namespace pawl::views {

// An episode of an attempt that is not over. While its step runs, the socket takes answers.
struct Asking {
  agent::EpisodeKey key;
  std::string operator_socket;  // "": its agent does not run
};
// Episodes of one phase, or of the whole run when `phase_id` is "".
Result<std::vector<Asking>> asking_of_run(const State& state, const std::string& run_id,
                                          const std::string& phase_id);
// Returns no questions when the episode has no file yet.
Result<std::vector<agent::Question>> questions_of(const std::string& folder, const agent::EpisodeKey& key);
Json to_json(const agent::EpisodeKey& key, const agent::Question& question);

// A question without an answer.
struct OpenQuestion {
  agent::EpisodeKey key;
  agent::Question question;  // its text without secrets
};
// Questions of agents whose steps are open; no other agent waits for an answer.
Result<std::vector<OpenQuestion>> open_questions(const State& state, const secrets::Redactor& redactor,
                                                 const std::vector<std::string>& run_ids);
Result<std::vector<OpenQuestion>> open_questions(const State& state, const std::string& run_id);
Json to_json(const std::vector<OpenQuestion>& open);

}  // namespace pawl::views
