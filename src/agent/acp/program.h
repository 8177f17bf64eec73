// The program that a plan's `agent: {acp: ...}` starts in the sandbox: it starts the agent, gives it the goal by the
// Agent Client Protocol (client.h), and prints the agent's progress. It is as untrusted as the agent: its whole
// output is the agent's word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::agent::acp {

// Whether `pawl` was started as this program: by the name of its place in a sandbox (plan/profile.h).
bool is_name(std::string_view program);

// `--prompt=TEXT [--model=NAME] [--permissions=ask] -- PROGRAM ARGUMENTS...`. Returns the exit code: one of Ended, or 2
// for other arguments.
//
// The id of the session is kept in HOME. With PAWL_CONTINUES the agent continues that session. SIGTERM ends the turn:
// the agent has a second to answer.
int run(const std::vector<std::string>& arguments);

}  // namespace pawl::agent::acp
