// The Journal in its SQLite database. A detail of this room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/chunker.h"
#include "agent/chunks.h"
#include "agent/journal.h"
#include "sqlite/connection.h"

namespace pawl::agent {

using sqlite::Query;
using sqlite::Transaction;

// The key of a lost step's question is this prefix and the step's key.
constexpr std::string_view kStepQuestion = "step:";
std::string question_of_step(const std::string& key);

class JournalStore final : public Journal {
 public:
  JournalStore(std::unique_ptr<sqlite::Connection> connection, Access access)
      : connection_(std::move(connection)), chunks_(*connection_), access_(access) {}
  // Creates the tables of a new file, or upgrades an old file. kNotFound: a file without tables, opened read-only.
  Status prepare();

  Status begin_group(bool alone) override;
  bool must_roll_back() const override { return connection_->must_roll_back(); }
  bool has_written() const override { return connection_->total_changes() != changes_before_group_; }
  Status commit() override;
  void roll_back() override;

  Result<std::unique_ptr<Saving>> begin_save(SaveSpec spec, WallTime now) override;
  Result<Loaded> load(const std::string& id, std::optional<std::int64_t> seq, WallTime now) override;
  Result<std::vector<Checkpoint>> list(const ListQuery& query) override;
  Result<std::vector<std::string>> ids(std::int64_t limit) override;
  Result<std::int64_t> prune(const std::string& prefix, bool exactly) override;

  Result<StepBegun> begin_step(const StepBegin& step, WallTime now) override;
  Status complete_step(const std::string& key, std::string result, WallTime now) override;
  Status fail_step(const std::string& key, std::string error, WallTime now) override;
  Result<std::vector<PaidStep>> steps(const std::string& after_key, std::int64_t limit) override;

  Result<ChildSpawned> spawn(const ChildSpawn& child, std::int64_t children_max, WallTime now) override;
  Status finish_child(const std::string& child_id, std::string result, WallTime now) override;
  Result<std::vector<ChildRow>> children() override;

  Status add_usage(const Usage& usage, WallTime now) override;
  Result<Spent> spent() override;
  Status note_elapsed(std::int64_t milliseconds) override;
  Result<Question> ask(const std::string& key, const std::string& text,
                       const std::vector<std::string>& choices, WallTime now) override;
  Result<std::vector<Question>> questions() override;
  Result<std::optional<Question>> question(const std::string& key) override;
  Status answer(const std::string& key, const std::string& answer, const std::string& who,
                WallTime now) override;
  Status add_event(const std::string& event, const Json& details, WallTime now) override;
  Result<Reported> reported_since(std::int64_t seq) override;

  Result<std::int64_t> begin_session(const std::string& session, WallTime now) override;
  Result<bool> report_resumed(const Json& loaded, WallTime now) override;
  Result<bool> has_kept() override;

 private:
  class Receiving;
  // The row of a checkpoint, with the columns that only the store reads.
  struct Stored {
    Checkpoint checkpoint;
    ChunkList chunks;
    std::string payload;  // for a checkpoint whose payload is in the row, without chunks
    bool whole = false;   // the row matches its seal
    bool damage_told = false;
  };
  struct Step {
    PaidStep row;
    std::string session;
    std::string lost;  // "", or the decision about the lost step (journal_steps.cc)
  };
  // All reads during its lifetime see the same state of the database.
  class Snapshot {
   public:
    static Result<Snapshot> begin(sqlite::Connection& connection);
    Snapshot(Snapshot&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
    Snapshot& operator=(Snapshot&&) = delete;
    ~Snapshot();

   private:
    explicit Snapshot(sqlite::Connection* connection) : connection_(connection) {}
    sqlite::Connection* connection_;  // null: the open transaction serves as the snapshot
  };

  Status upgrade();  // for a file that an older pawl wrote

  // --- transactions and totals
  void forget();  // drops the values cached in a transaction that was rolled back
  // Call it after a transaction that may have made the log long. `broke`: the transaction failed.
  void shorten_log(bool broke);
  // Begins the transaction of a verb that writes about `bytes`: kExhausted when the file is full. 0: allowed
  // even then. Becomes part of the group, when one is open.
  Result<Transaction> begin(std::string_view verb, std::size_t bytes = 0);
  Result<std::int64_t> number(std::string_view statement);
  Result<std::int64_t> total(std::string_view name);
  Result<std::int64_t> add_total(std::string_view name, std::int64_t more);  // returns the sum
  // Adds one to a bounded total; kExhausted at the bound. `what` names the rows in the message.
  Status count(std::string_view name, std::int64_t most, std::string_view what);
  // Reports an event as a side effect of a verb. The last of kEventsMax events is `events_full`.
  Status report(std::string_view event, const Json& details, WallTime now);
  Status insert_event(std::string_view event, const Json& details, WallTime now);

  // --- checkpoints
  static Stored read_checkpoint(const Query& query);
  Result<std::optional<Stored>> checkpoint(std::string_view statement, const std::string& id,
                                           std::int64_t seq);
  struct Payload {
    std::string bytes;
    std::string hash;  // "" until it is computed
    std::vector<Chunks::Cut> cuts;
    bool is_small() const { return bytes.size() <= kChunkBytesMin; }
    void prepare();
  };
  Result<Checkpoint> save(const SaveSpec& spec, Payload payload, WallTime now);
  Status insert_checkpoint(const Checkpoint& made, std::string_view packed);
  struct CheckpointCount {
    std::int64_t count = 0, last_seq = 0;  // how many exist, and the highest seq ever given
  };
  Result<CheckpointCount> count_checkpoints();
  // Adds the runs of the checkpoints saved since note_counted(). Call it before any checkpoint is removed,
  // and note_counted() after the removal.
  Status count_runs();
  Status note_counted();
  Status remove_older(const std::string& id, std::int64_t keep);
  // `stored` is the oldest checkpoint of its id. Returns the next checkpoint.
  Result<std::optional<Stored>> remove_oldest(const Stored& stored);
  // No value: the checkpoint is damaged.
  Result<std::optional<std::string>> payload_of(const Stored& stored);
  Status report_damage(const std::vector<Stored>& damaged, WallTime now);

  // --- steps
  static Step read_step(const Query& query);
  Result<std::optional<Step>> step(const std::string& key);
  Result<std::int64_t> count_of_steps();
  Result<StepBegun> begin_new(const StepBegin& asked, WallTime now);
  Result<StepBegun> begin_known(const Step& known, const StepBegin& asked, WallTime now);
  Result<StepBegun> begin_again(const Step& known, const StepBegin& asked, WallTime now);
  Result<StepBegun> lose(const Step& known, const StepBegin& asked, WallTime now);
  struct StepEnd {
    std::string_view state, lost = "", result = "", error = "";
  };
  Status end_step(const std::string& key, const StepEnd& end, WallTime now);
  // Answers the open question about a lost step, because its process has ended it after all.
  Status withdraw_question(const Step& known, std::string_view answer, WallTime now);
  Status decide(const std::string& key, std::string_view answer, const std::string& who, WallTime now);

  // --- questions
  Status insert_question(const std::string& key, const std::string& text, std::string_view choices,
                         WallTime now);
  // Asks about a lost step. The question may have been answered for an earlier execution.
  Status ask_anew(const std::string& key, const std::string& text, WallTime now);
  Status write_answer(const std::string& key, std::string_view answer, std::string_view who, WallTime now);

  // --- sessions
  Status look_at_what_was_found();
  Result<bool> resumed_is_reported();

  Result<std::optional<ChildRow>> child(const std::string& child_id);

  const std::unique_ptr<sqlite::Connection> connection_;
  Chunks chunks_;
  const Access access_;
  // Bytes of all Receivings. Shared, because the last Receiving may outlive the episode.
  const std::shared_ptr<std::int64_t> receiving_bytes_ = std::make_shared<std::int64_t>(0);
  std::optional<Transaction> group_;
  std::int64_t changes_before_group_ = 0;
  std::optional<sqlite::Connection::Shared> shared_;  // while group_ is open
  std::size_t log_bytes_ = 0;                         // written by the open transaction, roughly
  // Size of the file, plus the bytes that were written since it was read: an upper estimate.
  std::optional<std::int64_t> used_bytes_;
  // Estimated work of count_runs(), in chunks; each checkpoint counts as some chunks.
  std::size_t uncounted_ = 0;
  // The number of steps and the spent sums, cached: no other process writes.
  std::optional<std::int64_t> steps_;
  std::optional<Spent> spent_;
  // State when the first session of this object began: whether there was something to resume, and the last
  // reported seq.
  struct Found {
    bool something = false;
    std::int64_t told_seq = 0;
    std::int64_t session = 0;  // the first session that may resume
  };
  std::optional<Found> found_;
};

}  // namespace pawl::agent
