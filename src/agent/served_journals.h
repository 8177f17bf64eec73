// The journals that a server serves: of the episode of its step, or of the episodes of a folder, created and
// opened on demand.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "agent/api.h"
#include "agent/server.h"
#include "os/clock.h"

namespace pawl::agent {

constexpr std::size_t kJournalsOpenMax = 16;  // each journal has descriptors and a cache

class ServedJournals {
 public:
  // Opens the episode of a step if its file exists, to report an unusable file at once. `spec` must outlive
  // this object.
  static Result<std::unique_ptr<ServedJournals>> open(const ServeSpec& spec);

  // The goal and the episode of a request. 400: not a valid name; 403: not served by this socket.
  std::expected<EpisodeKey, ApiResponse> key_of(const Headers& headers) const;
  // Opens the episode if it is not open. At kJournalsOpenMax the least recently used episode without users is closed.
  // A holder of the returned pointer is a user.
  std::expected<std::shared_ptr<Api>, ApiResponse> find(const EpisodeKey& key);
  std::string path_of(const EpisodeKey& key) const;  // for an episode that find() has returned
  ~ServedJournals();

 private:
  using Name = std::pair<std::string, std::string>;  // goal, episode
  struct Open {
    std::shared_ptr<Api> api;
    std::uint64_t used = 0;
  };

  explicit ServedJournals(const ServeSpec& spec) : spec_(spec), began_(clock_.mono()) {}
  Result<std::shared_ptr<Api>> open_one(const Context& context);
  bool close_one();

  const ServeSpec& spec_;
  const os::SystemClock clock_;
  const MonoTime began_;
  std::map<Name, Open> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace pawl::agent
