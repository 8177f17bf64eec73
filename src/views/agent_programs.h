// The agent programs of this host, for programs that read JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "executor/agent_programs.h"

namespace pawl::views {

// The line of a plan that uses the program: "agent: {use: NAME}". REQUIRES: program.profile.
std::string plan_line(const executor::AgentProgram& program);

// REQUIRES: program.profile.
Json to_json(const executor::AgentProgram& program);

}  // namespace pawl::views
