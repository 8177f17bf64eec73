#include "agent/served_journals.h"

#include <algorithm>

#include "os/file.h"

namespace pawl::agent {

Result<std::unique_ptr<ServedJournals>> ServedJournals::open(const ServeSpec& spec) {
  auto out = std::unique_ptr<ServedJournals>(new ServedJournals(spec));
  if (!spec.context) return out;
  const auto& key = spec.context->key;
  PAWL_TRY(const auto path, episode_path(spec.pawl_folder, key));
  // Most agents make no request, and a new database costs ten writes to wait for.
  if (!os::exists(path)) return out;
  PAWL_TRY(auto api, out->open_one(*spec.context));
  out->open_[{key.goal_id, key.episode_id}] = {.api = std::move(api)};
  return out;
}

// With one episode per step, the time since the last request belongs to its agent. With a folder of episodes,
// it cannot be attributed.
ServedJournals::~ServedJournals() {
  if (!spec_.context) return;
  for (const auto& [name, open] : open_) open.api->note_end();
}

std::expected<EpisodeKey, ApiResponse> ServedJournals::key_of(const Headers& headers) const {
  const auto check = [](const std::optional<std::string>& named, const std::string& served,
                        std::string_view what) {
    return !named || *named == served
               ? std::nullopt
               : std::optional(problem(403, "foreign", "this socket is of another " + std::string(what)));
  };
  if (spec_.context) {
    const auto& key = spec_.context->key;
    if (auto foreign = check(headers.goal, key.goal_id, "goal")) return std::unexpected(std::move(*foreign));
    if (auto foreign = check(headers.episode, key.episode_id, "episode"))
      return std::unexpected(std::move(*foreign));
    return key;
  }
  EpisodeKey key{.run_id = std::string(kNoRun),
                 .goal_id = headers.goal.value_or("default"),
                 .episode_id = headers.episode.value_or("default")};
  if (open_.contains({key.goal_id, key.episode_id})) return key;
  if (const auto path = episode_path(spec_.pawl_folder, key); !path)
    return std::unexpected(problem(path.error()));
  return key;
}

std::expected<std::shared_ptr<Api>, ApiResponse> ServedJournals::find(const EpisodeKey& key) {
  const Name name{key.goal_id, key.episode_id};
  auto found = open_.find(name);
  if (found == open_.end()) {
    if (open_.size() >= kJournalsOpenMax && !close_one())
      return std::unexpected(problem(503, "unavailable", "16 episodes are in use at this moment: try again"));
    auto api = open_one(spec_.context ? *spec_.context : Context{.key = key});
    if (!api) {
      const auto why = why_unsaved(api.error());
      if (!why.empty() && spec_.on_unsaved) spec_.on_unsaved(why, 0);
      return std::unexpected(problem(api.error()));
    }
    found = open_.emplace(name, Open{.api = std::move(*api)}).first;
  }
  found->second.used = ++uses_;
  return found->second.api;
}

std::string ServedJournals::path_of(const EpisodeKey& key) const {
  return episode_path(spec_.pawl_folder, key).value_or(std::string());
}

Result<std::shared_ptr<Api>> ServedJournals::open_one(const Context& context) {
  PAWL_TRY(const auto path, episode_path(spec_.pawl_folder, context.key));
  PAWL_TRY(auto journal, Journal::open(path, Journal::Access::kReadWrite));
  Api::Hooks hooks{.on_log = spec_.on_log,
                   .on_cap_reached = spec_.on_cap_reached,
                   .on_unsaved = spec_.on_unsaved,
                   .redact = spec_.redact,
                   .free_bytes = [folder = os::folder_of(path)] { return os::free_bytes(folder); },
                   .served_ms =
                       [this, since = spec_.context ? began_ : clock_.mono()] {
                         return ms_between(since, clock_.mono());
                       }};
  return std::make_shared<Api>(std::move(journal), context, std::move(hooks));
}

// False: all are in use.
bool ServedJournals::close_one() {
  auto oldest = open_.end();
  for (auto it = open_.begin(); it != open_.end(); ++it)
    if (it->second.api.use_count() == 1 && (oldest == open_.end() || it->second.used < oldest->second.used))
      oldest = it;
  if (oldest == open_.end()) return false;
  open_.erase(oldest);
  return true;
}

}  // namespace pawl::agent
