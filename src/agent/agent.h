// The agent API: checkpoints, paid steps, children, usage and questions. This header is the entry to the
// room.
//
// An episode is one independent try of the agent. Everything that it reports is in its journal, a SQLite
// database of its own, `.pawl/agents/<run_id>/<goal_id>/<episode_id>.db`. So no episode reads another's
// data, a large journal is removed with one file, and the run's database never waits for an agent. Only the
// supervisor opens the journal for writing while the step runs; other processes only read it. When the
// executor records the end of the step, it copies events and usage into the ledger and the cost rows
// (executor/reported.h).
//
//   journal.h   the store of one episode, without HTTP; in three parts: checkpoints.h (what an agent continues
//               from), paid_steps.h (work that it pays once), reports.h (usage, questions, events)
//   api.h       HTTP requests on a journal, without sockets, as docs/agent-api.yaml describes them
//   server.h    the API on a Unix socket, by the room http
//   client.h    the client side, for `pawl checkpoint` and `pawl answer`
//
// All input of this room is written by the agent, which is treated as an attacker. Each size, count and rate
// has a bound.
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

// Stands for the run in the paths of `pawl agentd`, which serves episodes without a run.
inline constexpr std::string_view kNoRun = "agentd";

// The path of the episode's database. kInvalid: a part of the key is not allowed as a file name.
Result<std::string> episode_path(const std::string& pawl_folder, const EpisodeKey& key);

// The limits of this room.
constexpr std::int64_t kPayloadBytesMax = 64 << 20;    // for a checkpoint
constexpr std::size_t kMetadataBytesMax = 64 << 10;    // for a checkpoint
constexpr std::size_t kResultBytesMax = 1 << 20;       // for a step, a child or an answer: stored for good
constexpr std::size_t kIdBytesMax = 512;               // for checkpoint_ids and keys
constexpr std::int64_t kCheckpointsMax = 4'000'000;    // per episode
constexpr std::int64_t kStepsMax = 1'000'000;          // per episode, in its journal
constexpr std::int64_t kChildrenMax = 1000;            // per episode
constexpr std::int64_t kUsageRowsMax = 100'000;        // per episode
constexpr std::int64_t kEventsMax = 10'000;            // per episode: events become ledger rows
constexpr std::int64_t kQuestionsMax = 100;            // per episode, besides the questions about lost steps
constexpr std::size_t kChoicesMax = 20;                // per question
constexpr std::size_t kTextBytesMax = 32 << 10;        // for a question, or for a failed step's error
constexpr std::size_t kDetailsBytesMax = 4 << 10;      // for an event
constexpr std::int64_t kSessionsMax = 10'000;          // per episode: sessions whose names are stored
constexpr std::int64_t kKeepMax = 1000;                // checkpoints retained for an id, unless all are
constexpr std::int64_t kNumberMax = 1LL << 53;         // tokens, millionths or milliseconds of one report
constexpr std::int64_t kChildBytesMax = 64 << 20;      // for all results of children: they are read at once
constexpr std::int64_t kListMax = 1000;                // rows that a verb lists at once
constexpr std::int64_t kListedBytesMax = 16 << 20;     // for the results that steps() lists at once
constexpr std::int64_t kReceivedBytesMax = 256 << 20;  // for all payloads that are being received
constexpr std::int64_t kStoredBytesMax = 8LL << 30;    // for an episode's file
constexpr std::int64_t kFreeBytesMin = 16 << 20;       // free on the disk, besides twice the payload's size
constexpr std::int64_t kKeptDefault = 5;               // checkpoints retained for an id

}  // namespace pawl::agent
