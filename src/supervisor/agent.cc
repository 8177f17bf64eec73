#include "supervisor/agent.h"

#include "supervisor/supervisor.h"

namespace pawl::supervisor {

Result<AgentSocket> AgentSocket::open(const Spool& spool, const Job& job,
                                      std::function<void(std::string_view)> on_log) {
  AgentSocket out;
  if (job.agent.empty()) return out;
  PAWL_TRY(const Json json, parse_json(job.agent));
  PAWL_TRY(auto context, agent::context_from_json(json));
  out.cap_reached_ = std::make_unique<std::atomic<bool>>(false);
  PAWL_TRY(out.server_,
           agent::Server::start(
               {.socket_path = spool.path("context/" + std::string(kAgentSocket)),
                .operator_socket_path = spool.path(kOperatorSocket),
                .pawl_folder = spool.pawl_folder(),
                .context = std::move(context),
                .on_log =
                    [on_log = std::move(on_log)](std::string_view level, std::string_view message) {
                      on_log("[" + std::string(level) + "] " + std::string(message) + "\n");
                    },
                .on_cap_reached = [reached = out.cap_reached_.get()] { *reached = true; }}));
  return out;
}

}  // namespace pawl::supervisor
