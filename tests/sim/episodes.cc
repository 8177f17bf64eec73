#include "sim/episodes.h"

#include "os/file.h"

namespace pawl::sim {

Result<agent::Reported> SimEpisodes::reported_since(const agent::EpisodeKey& key, std::int64_t seq) {
  agent::Reported out;
  const auto& episode = of(key);
  if (episode.forgotten) return out;
  for (const auto& row : episode.usage)
    if (row.seq > seq) out.usage.push_back(row);
  for (const auto& event : episode.events)
    if (event.seq > seq) out.events.push_back(event);
  out.last_seq = episode.last_seq();
  return out;
}

Result<agent::Spent> SimEpisodes::spent(const agent::EpisodeKey& key) {
  agent::Spent out;
  for (const auto& row : of(key).usage) {
    out.tokens += row.usage.input_tokens + row.usage.output_tokens;
    out.usd_micros += row.usage.usd_micros.value_or(0);
  }
  return out;
}

void SimEpisodes::work(const agent::Context& context, const std::string& process, WallTime now) {
  if (!has_journals_) return;
  auto& episode = of(context.key);
  if (!folder_) folder_.emplace();
  if (!episode.journal) {
    const std::string path = *folder_ / std::to_string(++journals_);
    World::require(os::write_atomically(path, "").has_value(), "no file for a journal");
    episode.journal.emplace(path);
  }
  for (auto& event : episode.journal->work(context, process, dice_, now)) {
    event.seq = episode.last_seq() + 1;
    events_[context.key.run_id].insert(words_of(event.event, event.at, event.details));
    episode.events.push_back(std::move(event));
  }
  // The agent continues from what it saved.
  episode.kept = true;
}

agent::Spent SimEpisodes::tell(const agent::EpisodeKey& key, const agent::Usage& usage, WallTime now) {
  auto& episode = of(key);
  episode.usage.push_back({.seq = episode.last_seq() + 1, .at = rfc3339(now), .usage = usage});
  told_[key.run_id][usage.id] = usage;
  return *spent(key);
}

}  // namespace pawl::sim
