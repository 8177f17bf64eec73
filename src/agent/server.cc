#include "agent/server.h"

#include <utility>

#include "agent/api_exchange.h"

namespace pawl::agent {
namespace {

class ApiServer final : public Server {
 public:
  explicit ApiServer(ServeSpec spec) : spec_(std::move(spec)) {}

  Status begin() {
    PAWL_TRY(journals_, ServedJournals::open(spec_));
    std::vector<http::Listener> listeners = {{.socket_path = spec_.socket_path, .mode = spec_.socket_mode}};
    const std::size_t operators = listeners.size();
    if (!spec_.operator_socket_path.empty())
      listeners.push_back({.socket_path = spec_.operator_socket_path, .mode = 0600});
    os::SystemRandom random;
    const std::string session = spec_.context ? "step-" + os::random_word(random) : "";
    PAWL_TRY(server_, http::Server::start(std::move(listeners), [&](http::Loop& loop) {
               return std::make_unique<ApiApplication>(loop, *journals_, operators, session);
             }));
    return {};
  }

 private:
  const ServeSpec spec_;
  std::unique_ptr<ServedJournals> journals_;
  std::unique_ptr<http::Server> server_;  // ends before the journals that it serves
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServeSpec spec) {
  auto server = std::make_unique<ApiServer>(std::move(spec));
  PAWL_OK(server->begin());
  return server;
}

}  // namespace pawl::agent
