// The episodes that a server serves: the one of its step, or those of a folder, made and opened on demand.
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

constexpr std::size_t kEpisodesOpenMax = 16;  // each has descriptors and a cache

class Episodes {
 public:
  // Opens the one of a step when it is there already, to say at once what is wrong with it. `spec` outlives
  // it.
  static Result<std::unique_ptr<Episodes>> open(const ServeSpec& spec);

  // The goal and the episode that a request means. 400: no such name; 403: not what is served.
  std::expected<EpisodeKey, Answer> key_of(const Headers& headers) const;
  // Opens it when it is not open; then one that nobody has used for the longest time may be closed. Who holds
  // what this returns uses it.
  std::expected<std::shared_ptr<Api>, Answer> find(const EpisodeKey& key);
  std::string path_of(const EpisodeKey& key) const;  // of one that was found
  ~Episodes();

 private:
  using Name = std::pair<std::string, std::string>;  // goal, episode
  struct Open {
    std::shared_ptr<Api> api;
    std::uint64_t used = 0;
  };

  explicit Episodes(const ServeSpec& spec) : spec_(spec), began_(clock_.mono()) {}
  Result<std::shared_ptr<Api>> open_one(const Context& context);
  bool close_one();

  const ServeSpec& spec_;
  const os::SystemClock clock_;
  const MonoTime began_;
  std::map<Name, Open> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace pawl::agent
