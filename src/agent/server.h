// The agent's API (docs/agent-api.yaml) on a Unix socket, in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "agent/episode.h"
#include "base/error.h"

namespace pawl::agent {

// What the agent is told of itself; today's, not what a checkpoint was saved with.
struct Context {
  EpisodeKey key;
  std::string phase_id, goal, model;
  std::int64_t attempt = 1;
  std::string plan;  // of the plan's folder: a part of the fingerprint, like the model and Pawl's version
  // What this episode may spend; nothing: no cap.
  std::optional<std::int64_t> usd_micros_cap, tokens_cap;
  std::int64_t children_max = kChildrenMax;
  // What can't be saved is answered all the same, and says so; else it is refused.
  bool best_effort = false;
  std::string usage;  // the program that prints what it used (usage_reader.h); "": it tells by itself
};

Json to_json(const Context& context);
Result<Context> context_from_json(const Json& json);  // of our own: kCorrupt when it does not fit

struct ServeSpec {
  std::string socket_path;  // is made, mode 0666: whoever sees its folder may connect
  unsigned socket_mode = 0666;
  // A second one, mode 0600, that no sandbox sees: the same API, and /v1/answer, by which people answer. ""
  // for none. Paths of sockets may be as long as others.
  std::string operator_socket_path;
  std::string pawl_folder;
  // Of a step's socket: the one episode there is. Nothing: requests name goal and episode (`pawl agentd`).
  std::optional<Context> context;
  // From the server's thread. Lines of /v1/log and notes of heartbeats, without a newline; a cap was reached
  // (once).
  std::function<void(std::string_view level, std::string_view message)> on_log;
  std::function<void()> on_cap_reached;
  // Something that was told could not be saved: one of kDiskFull, kIoError. Each time, with how many bytes
  // free on the disk checkpoints have asked for in vain; 0: none has.
  std::function<void(std::string_view why, std::int64_t room_needed)> on_unsaved;
};

class Server {
 public:
  // Answers requests when it returns. kDenied, kUnavailable, kConflict: a socket can't be made; or what
  // Episode::open says. A socket that nobody serves any more is replaced.
  static Result<std::unique_ptr<Server>> start(ServeSpec spec);
  // Answers what has arrived, then closes everything; the episodes too. Takes a few seconds at most.
  virtual ~Server() = default;
};

}  // namespace pawl::agent
