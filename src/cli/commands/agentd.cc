#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "agent/server.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "executor/state_folder.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"

namespace pawl::cli {
namespace {

struct AgentdOptions {
  std::string dir, socket;
  bool json = false;
};

// Finds the folder as other commands do. Makes it when there is none.
Result<std::string> folder_of(const AgentdOptions& options) {
  const StateOptions state{.dir = options.dir};
  const auto found = find_folder(state);
  if (!found && found.error().kind != ErrorKind::kNotFound) return found;
  if (found) PAWL_OK(executor::check_state_folder(*found));
  const std::string named =
      options.dir.empty() ? os::environment_value("PAWL_DIR").value_or(".pawl") : options.dir;
  const std::string folder = found ? *found : named;
  PAWL_OK(os::make_folders(folder));
  return os::absolute_path(folder);
}

Result<int> serve(const AgentdOptions& options) {
  PAWL_TRY(const std::string folder, folder_of(options));
  PAWL_TRY(const auto lock, os::FileLock::try_lock(os::join(folder, "agentd.lock")));
  if (!lock) return fail(ErrorKind::kUnavailable, folder + ": another pawl agentd serves this folder");
  std::string socket = os::join(folder, "agent.sock");
  if (!options.socket.empty()) {
    PAWL_TRY(const std::string beside, os::absolute_path(os::folder_of(options.socket)));
    socket = os::join(beside, options.socket.substr(options.socket.rfind('/') + 1));
  }
  os::catch_interrupts();
  PAWL_TRY(const auto server,
           agent::Server::start({.socket_path = socket,
                                 .socket_mode = 0600,
                                 .operator_socket_path = os::join(folder, "operator.sock"),
                                 .pawl_folder = folder,
                                 .on_log = [](std::string_view level, std::string_view message) {
                                   tell("{}: {}\n", level, message);
                                 }}));
  if (options.json)
    print_json({{"socket", socket}, {"pid", os::this_process().pid}});
  else
    say("agents are served; for them: export PAWL_SOCKET={}\n", shell_word(socket));
  std::fflush(stdout);
  constexpr std::int64_t kLookEveryMs = 500;  // a signal ends the sleep, unless it arrives just before
  while (!os::interrupted()) os::SystemClock().sleep_ms(kLookEveryMs);
  return os::asked_to_stop_by_keyboard() ? kInterrupted : kDone;
}

}  // namespace

void add_agentd(const Command& program) {
  const Command command =
      program.add("agentd", "Serve checkpoints and journals to agents that no run started");
  auto options = std::make_shared<AgentdOptions>();
  command.option("--dir", options->dir,
                 "The state folder (else PAWL_DIR, else the nearest .pawl; made when there is none)");
  command.option("--socket", options->socket,
                 "The Unix socket to serve (else agent.sock in the state folder)");
  command.flag("--json", options->json,
               "Print {\"socket\", \"pid\"} on one line of stdout once it serves, for programs");
  command.footer(
      "Speaks docs/agent-api.yaml: HTTP and JSON. The headers Pawl-Goal and Pawl-Episode name goal "
      "and episode of a\nrequest; without them both are `default`. An answered request is durable. "
      "Log lines of agents go to stderr.\nRuns until SIGTERM (exit code 0) or SIGINT (130). Exit "
      "code 14: another agentd serves this folder.\nOnly this user can connect.\n\nExample:\n  pawl "
      "agentd &\n  curl --unix-socket .pawl/agent.sock http://pawl/v1/context");
  command.on_run([options] {
    const auto code = serve(*options);
    return code ? *code : report(code.error());
  });
}

}  // namespace pawl::cli
