// The files that a step finds in the folder /pawl. For an agent: the feedback and the evidence of the
// previous attempt.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"

namespace pawl::executor {

// The evidence that an attempt left for its readers: the next agent and the hooks.
struct Evidence {
  std::string agent_layer;         // "" when its agent changed no file
  std::vector<std::string> below;  // the layers below agent_layer, topmost first
  struct Log {
    std::string label, blob;
  };
  std::vector<Log> logs;
  struct Reports {
    std::string label, layer;  // the step's label, and the layer with its report files
  };
  std::vector<Reports> reports;
};

// Where a step finds the evidence: /pawl/evidence/previous.patch, /pawl/evidence/<label>.log, and the report
// files as /pawl/evidence/<label>.<their path, with "_" for "/">.
std::vector<std::string> paths_inside(const World& world, const Evidence& evidence);

using Context = std::vector<supervisor::ContextFile>;  // the files that a step finds in /pawl, by path

// Adds `evidence` under the paths of paths_inside(): the end of each log, the beginning and end of each
// report.
Status add_evidence(const World& world, const std::string& base_id, const Evidence& evidence, Context& to);

// Whether a step counts in its finished attempt. With several episodes, only steps of the chosen episode count, and
// steps that belong to no episode. `episodes`: the phase's.
bool of_kept_episode(const store::StepRow& step, std::span<const store::EpisodeRow> episodes);

// feedback.json and the evidence of claim.previous; empty when there was no previous attempt or it has no
// feedback. The same claim gives the same bytes.
Result<Context> agent_context(const World& world, const store::Claim& claim);

}  // namespace pawl::executor
