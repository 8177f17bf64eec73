// Group commit: verbs that several threads call at the same time share one transaction and one fsync. A
// detail of this folder.
//
// One thread leads: it runs the waiting verbs, commits, and wakes their callers. Verbs that arrive while it
// works join the group; verbs that arrive while it commits form the next one. A verb that fails after a write
// forces a rollback of the whole transaction. Then the group runs once more with each verb in a savepoint, so
// that a failing verb rolls back alone. Savepoints are not the default, because one copies every page that a
// verb changes, and such failures are rare. (DeWitt et al., "Implementation techniques for main memory
// database systems", 1984. LevelDB has the leader that is one of the followers.)
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "store/sqlite/database.h"
#include "store/verbs/run_store.h"

namespace pawl::store::sqlite {

using verbs::RunStore;

class Group {  // thread-safe
 public:
  Group(std::unique_ptr<Connection> connection, std::shared_ptr<const RowSealer> sealer)
      : connection_(*connection),
        writer_(std::make_unique<SqliteDatabase>(std::move(connection)), std::move(sealer)) {}

  // Runs the verb, a member function of RunStore, and returns its (last) result once that is durable. It may
  // run in another thread that called at the same time, and it may run twice. Verbs that share a commit share
  // its failure: then none of them happened, or all of them may have happened (kIndeterminate).
  template <typename Verb, typename... Arguments>
  std::invoke_result_t<Verb, RunStore&, const Arguments&...> run(Verb verb, const Arguments&... arguments) {
    std::optional<std::invoke_result_t<Verb, RunStore&, const Arguments&...>> answer;
    Task task;
    task.work = [&]() -> std::optional<Error> {
      answer.emplace(std::invoke(verb, writer_, arguments...));
      return *answer ? std::nullopt : std::optional(answer->error());
    };
    if (auto committed = submit(task); !committed) return std::unexpected(std::move(committed).error());
    return *std::move(answer);
  }

 private:
  struct Task {
    std::function<std::optional<Error>()> work;
    // A condition variable, because a semaphore of GCC 12 can sleep for ever
    // (gcc.gnu.org/bugzilla/show_bug.cgi?id=104928).
    std::condition_variable woken;
    bool done = false, leads = false;  // reasons to wake it; guarded by mutex_
    Status outcome;                    // the commit's
  };
  Status submit(Task& task);
  Status lead();
  Status commit_group(std::vector<Task*>& group);
  Status run_group(std::vector<Task*>& group, Connection::Parts parts, bool& must_roll_back);
  Status run_all(const std::vector<Task*>& tasks, bool& must_roll_back);
  std::vector<Task*> take_waiting();

  Connection& connection_;
  RunStore writer_;  // used by the leading thread
  std::mutex mutex_;
  std::vector<Task*> waiting_;  // guarded by mutex_
  bool led_ = false;            // guarded by mutex_
};

// A store whose verbs run in a group. Reads use a connection of their own and see committed data. It inherits
// no verb, so that the compiler names a verb that is missing here.
class GroupedStore final : public verbs::ReadingStore {
 public:
  GroupedStore(std::shared_ptr<Group> group, std::unique_ptr<Database> reads,
               std::shared_ptr<const RowSealer> sealer)
      : ReadingStore(std::move(reads), std::move(sealer)), group_(std::move(group)) {}

  Status create_run(const NewRun& run, WallTime now) override {
    return group_->run(&RunStore::create_run, run, now);
  }
  Status put_plan(const std::string& run_id, const PlanRows& plan) override {
    return group_->run(&RunStore::put_plan, run_id, plan);
  }
  Result<ClaimResult> claim(const ClaimRequest& request) override {
    return group_->run(&RunStore::claim, request);
  }
  Result<Begun> begin_step(const Lease& lease, const StepStart& start, const Endings& endings,
                           WallTime now) override {
    return group_->run(&RunStore::begin_step, lease, start, endings, now);
  }
  Result<std::vector<BudgetRow>> end_step(const Lease& lease, const Endings& endings, WallTime now) override {
    return group_->run(&RunStore::end_step, lease, endings, now);
  }
  Status wait(const Lease& lease, const Endings& endings, const std::string& not_before,
              WallTime now) override {
    return group_->run(&RunStore::wait, lease, endings, not_before, now);
  }
  Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) override {
    return group_->run(&RunStore::note_resume, lease, resume, now);
  }
  Result<Finished> finish(const Lease& lease, const Endings& endings, const AttemptEnd& end,
                          const Overlaps& overlaps, WallTime now) override {
    return group_->run(&RunStore::finish, lease, endings, end, overlaps, now);
  }
  Result<JudgedAgain> judge_again(const Lease& lease, const Endings& endings, WallTime now) override {
    return group_->run(&RunStore::judge_again, lease, endings, now);
  }
  Status heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) override {
    return group_->run(&RunStore::heartbeat, lease, now, mono, lease_ms);
  }
  Status release(const Lease& lease) override { return group_->run(&RunStore::release, lease); }
  Result<std::vector<std::string>> operator_retry(const std::string& run_id, const std::string& phase_id,
                                                  const Operator& who, WallTime now) override {
    return group_->run(&RunStore::operator_retry, run_id, phase_id, who, now);
  }
  Result<std::vector<std::string>> operator_skip(const std::string& run_id, const std::string& phase_id,
                                                 const Operator& who, WallTime now) override {
    return group_->run(&RunStore::operator_skip, run_id, phase_id, who, now);
  }
  Result<std::vector<std::string>> operator_cancel(const std::string& run_id, const std::string& phase_id,
                                                   const Operator& who, WallTime now) override {
    return group_->run(&RunStore::operator_cancel, run_id, phase_id, who, now);
  }
  Result<std::vector<std::string>> operator_approve(const std::string& run_id, const Approved& what,
                                                    const Overlaps& overlaps, const Operator& who,
                                                    WallTime now) override {
    return group_->run(&RunStore::operator_approve, run_id, what, overlaps, who, now);
  }
  Status operator_max_attempts(const std::string& run_id, std::int64_t max_attempts, const Operator& who,
                               WallTime now) override {
    return group_->run(&RunStore::operator_max_attempts, run_id, max_attempts, who, now);
  }
  Result<std::vector<std::string>> operator_go_on(const std::string& run_id, const Operator& who,
                                                  WallTime now) override {
    return group_->run(&RunStore::operator_go_on, run_id, who, now);
  }
  Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                         const Operator& who, WallTime now) override {
    return group_->run(&RunStore::operator_budget, run_id, unit, cap, who, now);
  }
  Status check_run(const std::string& run_id) override { return group_->run(&RunStore::check_run, run_id); }
  Status settle_usage(const Unsettled& unsettled, const Reported& reported, WallTime now) override {
    return group_->run(&RunStore::settle_usage, unsettled, reported, now);
  }
  Status put_inventory(const std::string& key, const std::string& text) override {
    return group_->run(&RunStore::put_inventory, key, text);
  }

 private:
  const std::shared_ptr<Group> group_;
};

}  // namespace pawl::store::sqlite
