// The part of a journal (agent/journal.h) that people, budgets and the ledger read: usage, questions, events
// and sessions. The journal's promises on durability, threads and errors hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/time.h"

namespace pawl::agent {

// The amounts spent up to a point, as the agent counts them or as the sum of its usage reports.
struct Spent {
  std::int64_t usd_micros = 0;  // millionths of a dollar: money is never a float
  std::int64_t tokens = 0;
  std::int64_t milliseconds = 0;
};

inline constexpr char kToldByAgent[] = "agent";  // the source of usage that came over the socket

struct Usage {
  std::string id;  // the agent's, unique in the episode: a repeated report counts once
  std::string model;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::optional<std::int64_t> usd_micros;  // no value: the price file determines it
  std::string source;                      // kToldByAgent, or the usage reader that found it
  bool operator==(const Usage&) const = default;
};

struct Question {
  std::string key, text;
  std::vector<std::string> choices;  // empty: any text
  std::optional<std::string> answer;
  std::string asked_at, answered_at;
};

// An event for the ledger: `resumed`, `warm_restart`, `checkpoint_damaged`, `checkpoint_not_found`,
// `question`, `answered`, `usage_limit`, ... When the limit is reached, the last event is `events_full`.
struct Event {
  std::int64_t seq = 0;  // increases; events and usage share the sequence
  std::string at, event;
  Json details;  // an object: strings, integers and booleans
};

struct UsageRow {
  std::int64_t seq = 0;
  std::string at;
  Usage usage;
};

struct Reported {  // reported after a seq: the executor copies it
  std::vector<Event> events;
  std::vector<UsageRow> usage;
  std::int64_t last_seq = 0;
};

class Reports {
 public:
  virtual ~Reports() = default;

  // A repeated report with the same id counts once. kConflict: with other values. The limits of an episode are for
  // the reports of agents, not for those of usage readers.
  virtual Status add_usage(const Usage& usage, WallTime now) = 0;
  // The sums of the usage rows (tokens are input plus output), and the recorded time.
  virtual Result<Spent> spent() = 0;
  virtual Status note_elapsed(std::int64_t milliseconds) = 0;  // adds to the recorded time
  // A repeated key returns the same question; kConflict with another text or other choices. kInvalid: the key
  // begins with `step:`, which marks questions about lost steps.
  virtual Result<Question> ask(const std::string& key, const std::string& text,
                               const std::vector<std::string>& choices, WallTime now) = 0;
  // All questions, in the order in which they were first asked.
  virtual Result<std::vector<Question>> questions() = 0;
  virtual Result<std::optional<Question>> question(const std::string& key) = 0;  // no value: never asked
  // The question about a lost step takes `done <JSON>`, `run` or `fail`. kInvalid: the answer is not among the
  // choices; kConflict: the question has another answer already.
  virtual Status answer(const std::string& key, const std::string& answer, const std::string& who,
                        WallTime now) = 0;
  // kExhausted: one event below kEventsMax, since the last event is `events_full`.
  virtual Status add_event(const std::string& event, const Json& details, WallTime now) = 0;
  // The events and the usage after `seq`, each ordered by seq. Without any, last_seq is `seq`.
  virtual Result<Reported> reported_since(std::int64_t seq) = 0;

  // The number of this session: how many processes of the agent have begun so far. The same name returns the
  // same number, for the first kSessionsMax sessions. A later session gets a new number at each call.
  virtual Result<std::int64_t> begin_session(const std::string& session, WallTime now) = 0;
  // Reports once that a session resumed from data that was stored before the first session of this object.
  // `loaded` names the first data that it used. Returns true when no report is left to make: it was made, or
  // there was no stored data.
  virtual Result<bool> report_resumed(const Json& loaded, WallTime now) = 0;
};

}  // namespace pawl::agent
