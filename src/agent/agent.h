// What an agent can ask for: checkpoints, a journal of paid steps, children, usage, questions. The room's
// door.
//
// An episode is one try at a goal. All that it has told is in one SQLite database of its own,
// `.pawl/agents/<run_id>/<goal_id>/<episode_id>.db`, so that no episode can read another's, a large one is
// removed with one file, and the run's database never waits for an agent. The supervisor opens it, and nobody
// else while the step runs but to read; the executor copies what belongs into the ledger and the cost rows
// when it records the step's end (told.h).
//
//   episode.h   the store, without HTTP
//   api.h       HTTP requests on an episode, without sockets: what docs/agent-api.yaml says
//   server.h    the API on a Unix socket
//   client.h    the same from the other side, for `pawl checkpoint` and `pawl answer`
//
// Everything that arrives here was written by the agent: an attacker. Each size, count and rate has a bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::agent {

struct EpisodeKey {
  std::string run_id;   // kNoRun for `pawl agentd`
  std::string goal_id;  // [a-z0-9][a-z0-9._-]{0,63}
  std::string episode_id;
};

// The run of what is served without one, by `pawl agentd`.
inline constexpr std::string_view kNoRun = "agentd";

// kInvalid when one of the three can't be a file's name.
Result<std::string> episode_path(const std::string& pawl_folder, const EpisodeKey& key);

// The highest number of things, in one place.
constexpr std::int64_t kPayloadBytesMax = 64 << 20;  // of a checkpoint
constexpr std::size_t kMetadataBytesMax = 64 << 10;  // of a checkpoint
constexpr std::size_t kResultBytesMax = 1 << 20;     // of a step, a child, an answer: they are kept for ever
constexpr std::size_t kIdBytesMax = 512;             // of checkpoint_ids and keys
constexpr std::int64_t kCheckpointsMax = 4'000'000;  // of an episode
constexpr std::int64_t kStepsMax = 1'000'000;        // of the journal, of an episode
constexpr std::int64_t kChildrenMax = 1000;          // of an episode
constexpr std::int64_t kUsageRowsMax = 100'000;      // of an episode
constexpr std::int64_t kEventsMax = 10'000;          // of an episode: they become ledger rows
constexpr std::int64_t kQuestionsMax = 100;          // of an episode, besides those about lost steps
constexpr std::size_t kChoicesMax = 20;              // of a question
constexpr std::size_t kTextBytesMax = 32 << 10;      // of a question, of what a step failed with
constexpr std::size_t kDetailsBytesMax = 4 << 10;    // of an event
constexpr std::int64_t kSessionsMax = 10'000;        // of an episode that are known by name
constexpr std::int64_t kKeepMax = 1000;              // checkpoints of a key, unless all are kept
constexpr std::int64_t kNumberMax = 1LL << 53;       // of tokens, millionths, milliseconds at a time
constexpr std::int64_t kChildBytesMax = 64 << 20;    // of all results of children: they are read at once
constexpr std::int64_t kListMax = 1000;              // rows that a verb lists at once
constexpr std::int64_t kListedBytesMax = 16 << 20;   // of the results that steps() lists at once
constexpr std::int64_t kReceivedBytesMax = 256 << 20;  // of the payloads that are being saved at once
constexpr std::int64_t kStoredBytesMax = 8LL << 30;    // of an episode's file
constexpr std::int64_t kFreeBytesMin = 16 << 20;       // of the disk, and twice what is saved
constexpr std::int64_t kKeptDefault = 5;               // checkpoints of a key

}  // namespace pawl::agent
