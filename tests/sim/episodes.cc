#include "sim/episodes.h"

namespace pawl::sim {

Result<agent::Told> SimEpisodes::told_since(const agent::EpisodeKey& key, std::int64_t seq) {
  agent::Told out;
  const auto& episode = of(key);
  if (episode.forgotten) return out;
  for (const auto& row : episode.usage)
    if (row.seq > seq) out.usage.push_back(row);
  out.last_seq = static_cast<std::int64_t>(episode.usage.size());
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

agent::Spent SimEpisodes::tell(const agent::EpisodeKey& key, const agent::Usage& usage, WallTime now) {
  auto& rows = of(key).usage;
  rows.push_back({.seq = static_cast<std::int64_t>(rows.size()) + 1, .at = rfc3339(now), .usage = usage});
  told_[key.run_id][usage.id] = usage;
  return *spent(key);
}

}  // namespace pawl::sim
