// What a step finds in the folder /pawl: for an agent the feedback and the evidence of the attempt before.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/executor.h"

namespace pawl::executor {

// What an attempt left for whoever reads it next.
struct Evidence {
  std::string agent_layer;         // "" when its agent changed nothing
  std::vector<std::string> below;  // the layers that it worked on, topmost first
  struct Log {
    std::string label, blob;
  };
  std::vector<Log> logs;
  struct Reports {
    std::string label, layer;  // the step's, and what it left of reports
  };
  std::vector<Reports> reports;
};

// Where a step finds it: /pawl/evidence/previous.patch, /pawl/evidence/<label>.log, and the files of reports
// as /pawl/evidence/<label>.<their path, with "_" for "/">.
std::vector<std::string> paths_inside(const World& world, const Evidence& evidence);

using Context = std::vector<sandbox::ContextFile>;  // what a step finds in /pawl, by path

// Adds `evidence`, as paths_inside() says: the end of each log, beginning and end of each report.
Status add_evidence(const World& world, const std::string& base_id, const Evidence& evidence, Context& to);

// Whether a step counts in its finished attempt: of several episodes only those of the kept one do, and what
// belongs to none. `episodes`: of the phase.
bool of_kept_episode(const store::StepRow& step, std::span<const store::EpisodeRow> episodes);

// feedback.json and the evidence of claim.previous; empty when there was no attempt before. The same claim
// gives the same bytes.
Result<Context> agent_context(const World& world, const store::Claim& claim);

}  // namespace pawl::executor
