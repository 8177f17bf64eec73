// The client of the API, for Pawl's own commands: one request after the other on one connection. Not
// thread-safe. A request waits as long as the server takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pawl::agent {

struct Response {
  int status = 0;
  std::string body;
  std::string checkpoint;    // the header Pawl-Checkpoint, decoded from base64: JSON
  std::int64_t damaged = 0;  // the header Pawl-Damaged
};

class Client {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // kNotFound, kDenied, kUnavailable: no process serves this socket, or it is not accessible.
  static Result<std::unique_ptr<Client>> connect(const std::string& socket_path);
  // To the socket of the agent that this process is, or belongs to: by its variables PAWL_SOCKET, PAWL_GOAL_ID and
  // PAWL_EPISODE_ID. kInvalid: there is no PAWL_SOCKET.
  static Result<std::unique_ptr<Client>> connect_as_agent();
  virtual ~Client() = default;

  // `headers` go with every request: Pawl-Goal, Pawl-Episode, Pawl-Session.
  virtual void always_send(Headers headers) = 0;
  // The server's response, whatever its status. kIndeterminate: the connection ended before a response.
  virtual Result<Response> ask(std::string_view method, const std::string& target, std::string body,
                               const Headers& headers) = 0;
  // The same, but a status other than 2xx becomes an Error of the matching kind.
  Result<Response> ask_for_success(std::string_view method, const std::string& target, std::string body = {},
                                   const Headers& headers = {});
};

std::string percent_encoded(std::string_view text);  // for a value in a query

}  // namespace pawl::agent
