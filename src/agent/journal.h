// All that the agent of one episode stored. A verb is durable when it returns; inside a group it is durable
// when commit() returns.
//
// Not thread-safe: one thread uses one Journal. While a process has an episode open for writing, other
// processes may only read it.
//
// Errors:
//   kInvalid    the agent's mistake; the message names the field and the bound
//   kConflict   a key used again with other arguments; the message names both
//   kNotFound   the named object does not exist
//   kExhausted  a bound of agent.h, or a full disk
//   kCorrupt    a checkpoint's bytes do not match their hashes
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

// The amounts spent up to a point, as the agent counts them or as the sum of its usage reports.
struct Spent {
  std::int64_t usd_micros = 0;  // millionths of a dollar: money is never a float
  std::int64_t tokens = 0;
  std::int64_t milliseconds = 0;
};

// A checkpoint without its payload.
struct Checkpoint {
  std::string id;        // checkpoint_id: `"{role}-{depth}"`, children `"{parent}/{spawn_seq}.{ordinal}"`
  std::int64_t seq = 0;  // unique in the episode, grows
  std::string hash;      // BLAKE3 of the payload
  std::int64_t size = 0;
  Json metadata;  // an object
  Spent spent;
  std::string fingerprint;  // canonical JSON of the saver's {plan, model, pawl}
  std::string saved_at;
};

struct Loaded {
  Checkpoint checkpoint;
  std::string payload;
  std::int64_t damaged = 0;  // newer unreadable checkpoints of the id; an event reports them
};
// The warning for a person that checkpoint `seq` of `id` was loaded instead of newer, damaged ones.
std::string damage_text(std::string_view id, std::int64_t seq, std::int64_t damaged);

enum class StepKind { kPure, kEffect };  // an effect costs money, or is visible outside the workspace
enum class OnLost { kReExecute, kAsk, kFail };

struct StepBegin {
  std::string key;  // the agent's name for the step: stable across processes
  StepKind kind = StepKind::kPure;
  std::string args_hash;          // up to kIdBytesMax bytes
  std::optional<OnLost> on_lost;  // default: kReExecute for pure steps, kAsk for effects
  std::string session;            // of the calling process: a step begun in the same session is not lost
};

enum class StepAnswer {
  kRun,   // execute it, then call complete_step() or fail_step()
  kDone,  // it was completed before: see `result`
  kLost,  // its process is gone and the outcome is unknown: `on_lost` is the reason why
          // the step does not run
};

struct StepBegun {
  StepAnswer answer = StepAnswer::kRun;
  std::int64_t execution = 1;           // of kRun: above 1, an earlier execution was lost or failed
  std::string result;                   // of kDone: JSON text
  OnLost on_lost = OnLost::kReExecute;  // of kLost: kAsk (`question` waits for a person) or kFail
  std::string question;                 // of kLost with kAsk: the question's key
};

struct StepRow {
  std::string key, args_hash, state;  // begun | done | failed
  StepKind kind = StepKind::kPure;
  std::int64_t executions = 0;
  std::string result, error, begun_at, ended_at;
};

struct ChildSpawn {
  std::string parent;                       // checkpoint_id of the parent
  std::int64_t spawn_seq = 0, ordinal = 0;  // the number of the parent's spawn, and of the child in it
  std::string spec_hash;                    // of the child's task: kConflict when this place had another
};

std::string child_id_of(const ChildSpawn& child);

enum class ChildAnswer { kStart, kResume, kDone };

struct ChildSpawned {
  std::string child_id;  // `"{parent}/{spawn_seq}.{ordinal}"`: also its checkpoint_id
  ChildAnswer answer = ChildAnswer::kStart;
  std::string result;  // of kDone: JSON text
};

struct ChildRow {
  std::string child_id, spec_hash, state;  // running | done
  std::string result, spawned_at, finished_at;
};

struct Usage {
  std::string id;  // the agent's, unique in the episode: a repeated report counts once
  std::string model;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::optional<std::int64_t> usd_micros;  // no value: the price file determines it
  std::string source;                      // `agent`, or the usage reader that found it
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

struct Told {  // reported after a seq: the executor copies it
  std::vector<Event> events;
  std::vector<UsageRow> usage;
  std::int64_t last_seq = 0;
};

struct ListQuery {
  std::string prefix;                  // of the id; "" for all
  std::optional<std::string> id;       // exactly this one
  std::optional<std::int64_t> before;  // only checkpoints with a lower seq
  std::int64_t limit = 100;            // at most 1000
};

class Journal {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // Creates the file and its folders, except with kReadOnly (then kNotFound). A reader sees committed data,
  // beside a writer and after a killed one. Its writing verbs fail with kDenied, and its load() records no
  // damage. kInvalid: a newer pawl wrote the file; kCorrupt: it is not an episode.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, Access access);
  virtual ~Journal() = default;

  // Verbs between begin_group() and commit() are one transaction. Their results are durable, and may be
  // reported, when commit() returns. When commit() fails, none of them happened. A verb that fails leaves no
  // change. `alone`: the group has one verb, without a savepoint, which is cheaper. If that verb fails after
  // a write, spoilt() is true. Then commit() fails, and the whole group must be rolled back.
  virtual Status begin_group(bool alone = false) = 0;
  virtual bool spoilt() const = 0;
  virtual bool has_written() const = 0;  // whether the open group has changed anything
  virtual Status commit() = 0;
  virtual void roll_back() = 0;

  // --- checkpoints
  // A payload that is being received. Destroying it before finish() discards the payload.
  class Saving {
   public:
    virtual ~Saving() = default;
    virtual Status append(std::string_view bytes) = 0;
    virtual std::int64_t size() const = 0;       // bytes appended so far
    virtual void expect(std::size_t bytes) = 0;  // reserves memory for `bytes` in all, at most
    // Memory for the next bytes: at most `bytes_max`, and at most as many as are still expected. append()
    // does not copy bytes that were written there.
    virtual std::span<char> place(std::size_t bytes_max) = 0;
    // Cuts and hashes the whole payload, which is most of the work of finish() for a large one. Another
    // thread may call it while no other thread uses this object.
    virtual void prepare() = 0;
    // Saves the checkpoint. SaveSpec::keep limits how many of the id are retained; 0 retains all.
    virtual Result<Checkpoint> finish() = 0;
  };
  struct SaveSpec {
    std::string id;
    Json metadata = Json::object();
    Spent spent;
    std::string fingerprint;
    std::int64_t keep = kKeptDefault;
  };
  // append() collects the bytes in memory; kExhausted when all payloads being received reach
  // kReceivedBytesMax. finish() is one transaction, or part of the open group. After the Journal is
  // destroyed, a Saving may only be destroyed.
  virtual Result<std::unique_ptr<Saving>> begin_save(SaveSpec spec, WallTime now) = 0;

  // The newest valid checkpoint of the id, or the one with `seq`. kNotFound: there is none; kCorrupt: none of
  // them is valid. Each damaged checkpoint is reported in one event.
  virtual Result<Loaded> load(const std::string& id, std::optional<std::int64_t> seq, WallTime now) = 0;
  virtual Result<std::vector<Checkpoint>> list(const ListQuery& query) = 0;  // newest first
  // Removes the checkpoints whose id starts with `prefix`, or with `exactly` equals it. Returns how many.
  virtual Result<std::int64_t> prune(const std::string& prefix, bool exactly) = 0;

  // --- steps
  // Begins the step, or returns what is known of it (StepAnswer). A step that another session began, and did
  // not end, is lost; an event reports it. kConflict: the key was begun with another kind or other arguments.
  virtual Result<StepBegun> begin_step(const StepBegin& step, WallTime now) = 0;
  // kNotFound: never begun; kConflict: completed with another result, or failed. The same result again is a
  // success. The process of a supposedly lost step may still complete it while a person is asked.
  virtual Status complete_step(const std::string& key, std::string result, WallTime now) = 0;
  // Records that the step did not happen: it may be begun again.
  virtual Status fail_step(const std::string& key, std::string error, WallTime now) = 0;
  // Ordered by key. Stops after kListedBytesMax of results, but returns at least one step if there is one.
  // Empty: the end.
  virtual Result<std::vector<StepRow>> steps(const std::string& after_key, std::int64_t limit) = 0;

  // --- children
  // Records the child before it starts. kStart: start it; kResume: it was spawned before and has not
  // finished; kDone: see `result`. kConflict: this place had another spec_hash. kExhausted: at `children_max`
  // or kChildrenMax.
  virtual Result<ChildSpawned> spawn(const ChildSpawn& child, std::int64_t children_max, WallTime now) = 0;
  // kNotFound: never spawned; kConflict: finished with another result; kExhausted: above kChildBytesMax. The
  // same result again is a success.
  virtual Status finish_child(const std::string& child_id, std::string result, WallTime now) = 0;
  // In the order of their spawns.
  virtual Result<std::vector<ChildRow>> children() = 0;

  // --- usage, questions, events
  // A repeated report with the same id counts once. kConflict: with other values.
  virtual Status add_usage(const Usage& usage, WallTime now) = 0;
  // The sums of the usage rows (tokens are input plus output), and the recorded time.
  virtual Result<Spent> spent() = 0;
  virtual Status note_elapsed(std::int64_t milliseconds) = 0;  // adds to the recorded time
  // A repeated key returns the same question; kConflict with another text or other choices. kInvalid: the key
  // begins with `step:`, which marks questions about lost steps.
  virtual Result<Question> ask(const std::string& key, const std::string& text,
                               const std::vector<std::string>& choices, WallTime now) = 0;
  // In the order in which they were first asked.
  virtual Result<std::vector<Question>> questions() = 0;
  virtual Result<std::optional<Question>> question(const std::string& key) = 0;  // no value: never asked
  // The question about a lost step takes `done <JSON>`, `run` or `fail`. kInvalid: not one of the choices;
  // kConflict: the question has another answer already.
  virtual Status answer(const std::string& key, const std::string& answer, const std::string& who,
                        WallTime now) = 0;
  // kExhausted: one event below kEventsMax, since the last event is `events_full`.
  virtual Status add_event(const std::string& event, const Json& details, WallTime now) = 0;
  // The events and the usage after `seq`, each ordered by seq. Without any, last_seq is `seq`.
  virtual Result<Told> told_since(std::int64_t seq) = 0;

  // The number of this session: how many processes of the agent have begun so far. The same name returns the
  // same number, for the first kSessionsMax sessions. A later session gets a new number at each call.
  virtual Result<std::int64_t> begin_session(const std::string& session, WallTime now) = 0;
  // Reports once that a session resumed from data that was stored before the first session of this object.
  // `loaded` names the first data that it used. Returns true when no report is left to make: it was made, or
  // there was no stored data.
  virtual Result<bool> tell_resumed(const Json& loaded, WallTime now) = 0;
  // Whether the next process can resume: there is a checkpoint, a step, a child or a question.
  virtual Result<bool> has_kept() = 0;
};

}  // namespace pawl::agent
