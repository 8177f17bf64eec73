// The program that a plan's `agent: {acp: ...}` starts in the sandbox: it starts the agent, gives it the goal by the
// Agent Client Protocol (client.h), and prints what it does. It is as untrusted as the agent: all that it prints
// is the agent's word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::agent::acp {

// Whether `pawl` was started as this program: by the name of its place in a sandbox (plan/profile.h).
bool is_name(std::string_view program);

// `--prompt=TEXT [--model=NAME] [--] PROGRAM ARGUMENTS...`. Returns the exit code: one of Ended, or 2 for other arguments.
//
// The id of the session is kept in HOME. With PAWL_CONTINUES the agent goes on in it. SIGTERM ends the turn: the
// agent has a second to answer.
int run(const std::vector<std::string>& arguments);

}  // namespace pawl::agent::acp
