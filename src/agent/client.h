// The API from the other side, for Pawl's own commands: one request after the other on one connection.
// Not thread-safe. It waits as long as the server does.
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
  std::string checkpoint;    // of the header Pawl-Checkpoint, no base64 any more: JSON
  std::int64_t damaged = 0;  // of the header Pawl-Damaged
};

class Client {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // kNotFound, kDenied, kUnavailable: nobody serves this socket.
  static Result<std::unique_ptr<Client>> connect(const std::string& socket_path);
  virtual ~Client() = default;

  // `headers` go with every request: Pawl-Goal, Pawl-Episode, Pawl-Session.
  virtual void always_send(Headers headers) = 0;
  // What the server says, whatever its status. kIndeterminate: the connection ended before it said anything.
  virtual Result<Response> ask(std::string_view method, const std::string& target, std::string body,
                               const Headers& headers) = 0;
  // The same, and an answer that is no 2xx is an Error of the kind that it stands for.
  Result<Response> ask_for_success(std::string_view method, const std::string& target, std::string body = {},
                                   const Headers& headers = {});
};

std::string percent_encoded(std::string_view text);  // for a value in a query

}  // namespace pawl::agent
