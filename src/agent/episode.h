// One episode's memory. Durable when a verb returns, unless a group is open: then when commit() returns.
//
// Not thread-safe: one thread, one Episode. While one process has an episode open for writing, others read it
// at most. Errors: kInvalid (the agent's mistake; the message names the field and the bound), kConflict (a
// key used again with other arguments; both are named), kNotFound, kExhausted (a bound of agent.h, or the
// disk is full), kCorrupt (a checkpoint's bytes are not what their hashes say).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time.h"

namespace pawl::agent {

// What was spent up to a point, as the agent counts it or as usage() added up.
struct Spent {
  std::int64_t usd_micros = 0;  // millionths of a dollar: money is never a float
  std::int64_t tokens = 0;
  std::int64_t milliseconds = 0;
};

// Of a checkpoint, without its payload.
struct Checkpoint {
  std::string id;        // checkpoint_id: `"{role}-{depth}"`, children `"{parent}/{spawn_seq}.{ordinal}"`
  std::int64_t seq = 0;  // unique in the episode, grows
  std::string hash;      // BLAKE3 of the payload
  std::int64_t size = 0;
  Json metadata;  // an object
  Spent spent;
  std::string fingerprint;  // canonical JSON of what the saver ran with: {plan, model, pawl}
  std::string saved_at;
};

struct Loaded {
  Checkpoint checkpoint;
  std::string payload;
  std::int64_t damaged = 0;  // newer checkpoints of the id that could not be read: an event tells of them
};
// The same for a person, who has got checkpoint `seq` of `id` instead.
std::string damage_text(std::string_view id, std::int64_t seq, std::int64_t damaged);

enum class StepKind { kPure, kEffect };  // an effect: paid, or seen outside of the workspace
enum class OnLost { kReExecute, kAsk, kFail };

struct StepBegin {
  std::string key;  // the agent's name of the step: the same in the next process
  StepKind kind = StepKind::kPure;
  std::string args_hash;          // up to kIdBytesMax bytes
  std::optional<OnLost> on_lost;  // nothing: kReExecute for pure ones, kAsk for effects
  std::string session;            // of the process that asks: in the same one, a begun step is not lost
};

enum class StepAnswer {
  kRun,   // do it, then complete() or fail_step()
  kDone,  // it was done: `result`
  kLost,  // it was begun by a process that is gone, and whether it happened nobody knows: `on_lost` says why
          // it does not run
};

struct StepBegun {
  StepAnswer answer = StepAnswer::kRun;
  std::int64_t execution = 1;           // of kRun: the second one repeats an orphan
  std::string result;                   // of kDone: JSON text
  OnLost on_lost = OnLost::kReExecute;  // of kLost: kAsk (`question` waits for a person) or kFail
  std::string question;                 // of kLost with kAsk: its key
};

struct StepRow {
  std::string key, args_hash, state;  // begun | done | failed
  StepKind kind = StepKind::kPure;
  std::int64_t executions = 0;
  std::string result, error, begun_at, ended_at;
};

struct ChildSpawn {
  std::string parent;                       // checkpoint_id of the parent
  std::int64_t spawn_seq = 0, ordinal = 0;  // which spawn of the parent, which child of it
  std::string spec_hash;  // of what the child is to do: kConflict when the same place had another
};

std::string child_id_of(const ChildSpawn& child);

enum class ChildAnswer { kStart, kResume, kDone };

struct ChildSpawned {
  std::string child_id;  // `"{parent}/{spawn_seq}.{ordinal}"`: its checkpoint_id too
  ChildAnswer answer = ChildAnswer::kStart;
  std::string result;  // of kDone: JSON text
};

struct ChildRow {
  std::string child_id, spec_hash, state;  // running | done
  std::string result, spawned_at, finished_at;
};

struct Usage {
  std::string id;  // the agent's, unique in the episode: one that comes again counts once
  std::string model;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::optional<std::int64_t> usd_micros;  // nothing: to be found by a price file
  std::string source;                      // agent, or the adapter that read it
  bool operator==(const Usage&) const = default;
};

struct Question {
  std::string key, text;
  std::vector<std::string> choices;  // empty: any text
  std::optional<std::string> answer;
  std::string asked_at, answered_at;
};

// An event for the ledger: `resumed`, `warm_restart`, `checkpoint_damaged`, `checkpoint_not_found`,
// `question`, `answered`, `usage_limit`, ... The last one that fits is `events_full`.
struct Event {
  std::int64_t seq = 0;  // grows, of events and usage together
  std::string at, event;
  Json details;  // an object: strings, integers and booleans
};

struct UsageRow {
  std::int64_t seq = 0;
  std::string at;
  Usage usage;
};

struct Told {  // since a seq: what the executor copies
  std::vector<Event> events;
  std::vector<UsageRow> usage;
  std::int64_t last_seq = 0;
};

struct ListQuery {
  std::string prefix;                  // of the id; "" for all
  std::optional<std::string> id;       // exactly this one
  std::optional<std::int64_t> before;  // seq: only older ones
  std::int64_t limit = 100;            // at most 1000
};

class Episode {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // Creates the file and its folders unless kReadOnly (then kNotFound). A reader sees what is committed,
  // beside a writer and after one that was killed; verbs that write are kDenied, and load() tells nobody of
  // damage. kInvalid: a newer pawl's; kCorrupt: it is no episode.
  static Result<std::unique_ptr<Episode>> open(const std::string& path, Access access);
  virtual ~Episode() = default;

  // Verbs between these two are one transaction: their answers may be told when commit() has returned. When
  // commit() fails none of them happened. A verb that fails leaves nothing of itself.
  // `alone`: of one verb, which is taken back with the whole group when it fails after it has written;
  // spoilt() says so, and then commit() fails. That is cheaper than being ready to take back each.
  virtual Status begin_group(bool alone = false) = 0;
  virtual bool spoilt() const = 0;
  virtual bool has_written() const = 0;  // of the open group: whether it changes anything
  virtual Status commit() = 0;
  virtual void roll_back() = 0;

  // --- checkpoints
  // A payload that is being received. Destroyed before finish(): nothing was saved.
  class Saving {
   public:
    virtual ~Saving() = default;
    virtual Status append(std::string_view bytes) = 0;
    virtual std::int64_t size() const = 0;       // of what was appended
    virtual void expect(std::size_t bytes) = 0;  // in all, at most: they need no second place while they come
    // Where the next bytes may be put, so many at most, and as many as are expected still: append() of them
    // copies nothing then.
    virtual std::span<char> place(std::size_t bytes_max) = 0;
    // Cuts and hashes what was appended, all of it: most of what finish() does for a large payload. Another
    // thread may call it, when nobody uses this object meanwhile.
    virtual void prepare() = 0;
    // `keep`: how many of this id are left at most, 0 for all of them.
    virtual Result<Checkpoint> finish() = 0;
  };
  struct SaveSpec {
    std::string id;
    Json metadata = Json::object();
    Spent spent;
    std::string fingerprint;
    std::int64_t keep = kKeptDefault;
  };
  // append() keeps the bytes in memory: kExhausted when all that are being saved have kReceivedBytesMax.
  // finish() is one transaction, or a part of the open group. When the episode has gone, it may only be
  // destroyed.
  virtual Result<std::unique_ptr<Saving>> begin_save(SaveSpec spec, WallTime now) = 0;

  // The newest valid one of the id, or that `seq`. kNotFound; kCorrupt when there are some and none is whole.
  // A fallback is an event (once a damaged checkpoint).
  virtual Result<Loaded> load(const std::string& id, std::optional<std::int64_t> seq, WallTime now) = 0;
  virtual Result<std::vector<Checkpoint>> list(const ListQuery& query) = 0;  // newest first
  // Removes all whose id is `prefix` or starts with it (exactly: only the id itself). Returns how many.
  virtual Result<std::int64_t> prune(const std::string& prefix, bool exactly) = 0;

  // --- journal
  virtual Result<StepBegun> begin_step(const StepBegin& step, WallTime now) = 0;
  // kNotFound: never begun; kConflict: it was completed with another result, or has failed. Completed again
  // with the same: fine. A process that lives after all may complete what a person is asked about.
  virtual Status complete_step(const std::string& key, std::string result, WallTime now) = 0;
  // The step did not happen: it may be begun again.
  virtual Status fail_step(const std::string& key, std::string error, WallTime now) = 0;
  // By key; as many as kListedBytesMax of results carry, at least one when there is one: none is the end.
  virtual Result<std::vector<StepRow>> steps(const std::string& after_key, std::int64_t limit) = 0;

  // --- children
  virtual Result<ChildSpawned> spawn(const ChildSpawn& child, std::int64_t children_max, WallTime now) = 0;
  virtual Status finish_child(const std::string& child_id, std::string result, WallTime now) = 0;
  virtual Result<std::vector<ChildRow>> children() = 0;

  // --- usage, questions, events
  virtual Status add_usage(const Usage& usage, WallTime now) = 0;
  // Of the usage rows (tokens are those of input and output), and the time that was noted.
  virtual Result<Spent> spent() = 0;
  virtual Status note_elapsed(std::int64_t milliseconds) = 0;  // so many more
  // Asked again with the same key: the same question (kConflict with another text). Keys that begin with
  // `step:` are those of lost steps: kInvalid.
  virtual Result<Question> ask(const std::string& key, const std::string& text,
                               const std::vector<std::string>& choices, WallTime now) = 0;
  virtual Result<std::vector<Question>> questions() = 0;
  virtual Result<std::optional<Question>> question(const std::string& key) = 0;  // nothing: never asked
  // An orphan's question takes `done <JSON>`, `run` or `fail`. kInvalid: not one of the choices; kConflict:
  // it has another answer already.
  virtual Status answer(const std::string& key, const std::string& answer, const std::string& who,
                        WallTime now) = 0;
  virtual Status add_event(const std::string& event, const Json& details, WallTime now) = 0;
  virtual Result<Told> told_since(std::int64_t seq) = 0;

  // How many processes of the agent have begun, this one with it: the same for the same word, of the first
  // kSessionsMax; a later one is counted anew each time.
  virtual Result<std::int64_t> begin_session(const std::string& session, WallTime now) = 0;
  // Tells once that a session goes on from what was kept before this object was opened. `loaded` names the
  // first thing that it took. Returns whether nothing of this kind is left to tell: it is told, or nothing
  // was kept.
  virtual Result<bool> tell_resumed(const Json& loaded, WallTime now) = 0;
  // Whether the next process finds anything to go on from: a checkpoint, a step, a child or a question.
  virtual Result<bool> has_kept() = 0;
};

}  // namespace pawl::agent
