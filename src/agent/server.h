// The agent API (docs/agent-api.yaml) on a Unix socket, in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "agent/journal.h"
#include "base/error.h"

namespace pawl::agent {

// The agent's work, as GET /v1/context describes it: the current values, not those of a saved checkpoint.
struct Context {
  EpisodeKey key;
  std::string phase_id, goal, model;
  std::int64_t attempt = 1;
  std::string plan;  // hash of the plan's folder; part of the fingerprint, like the model and Pawl's version
  // The caps on this episode's spending; no value: no cap.
  std::optional<std::int64_t> usd_micros_cap, tokens_cap;
  std::int64_t children_max = kChildrenMax;
  // Degraded mode: a write that cannot be saved is accepted, and the response says so. Otherwise it is
  // refused.
  bool best_effort = false;
  std::string usage;  // the usage reader for the agent's output (usage_reader.h); "": the agent reports usage
};

Json to_json(const Context& context);
Result<Context> context_from_json(const Json& json);  // kCorrupt: not written by to_json()

struct ServeSpec {
  std::string socket_path;  // is created with `socket_mode`: every user who sees its folder may connect
  unsigned socket_mode = 0666;
  // A second socket, mode 0600, that no sandbox sees: the same API and /v1/answer, for people who answer. "": no such
  // socket. Paths of sockets may be longer than an address (http/socket_path.h).
  std::string operator_socket_path;
  std::string pawl_folder;
  // The only episode of a step's socket. No value: requests name goal and episode (`pawl agentd`).
  std::optional<Context> context;
  // Called in the server's thread. on_log: a line of /v1/log or the note of a heartbeat, without a newline.
  // on_cap_reached: once, when a cap is reached.
  std::function<void(std::string_view level, std::string_view message)> on_log;
  std::function<void()> on_cap_reached;
  // Removes secrets from questions, their choices and usage before they are stored. Optional.
  std::function<std::string(std::string_view)> redact;
  // Called in the server's thread for each write that could not be saved. `why`: kDiskFull or kIoError.
  // `room_needed`: the most free bytes that a refused checkpoint needed; 0: none was refused for space.
  std::function<void(std::string_view why, std::int64_t room_needed)> on_unsaved;
};

class Server {
 public:
  // The server answers requests when this returns. kDenied, kUnavailable, kConflict: a socket cannot be
  // created; also the errors of Journal::open(). A stale socket is replaced.
  static Result<std::unique_ptr<Server>> start(ServeSpec spec);
  // Answers the requests that have arrived, then closes all connections and episodes. Takes a few seconds at
  // most.
  virtual ~Server() = default;
};

}  // namespace pawl::agent
