// Group commit: verbs that several threads call at the same time share one transaction and one fsync. A
// detail of this room.
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

  // Runs `verb` on a store, and returns its (last) result once that is durable. It may run in another thread
  // that called at the same time, and it may run twice. Verbs that share a commit share its failure: then
  // none of them happened, or (kIndeterminate) all of them may have.
  template <typename Verb>
  auto run(Verb verb) -> decltype(verb(std::declval<RunStore&>())) {
    using Answer = decltype(verb(writer_));
    std::optional<Answer> answer;
    Task task;
    task.work = [&]() -> std::optional<Error> {
      answer.emplace(verb(writer_));
      return *answer ? std::nullopt : std::optional(answer->error());
    };
    if (auto committed = submit(task); !committed) return std::unexpected(std::move(committed).error());
    return *std::move(answer);
  }

 private:
  struct Task {
    std::function<std::optional<Error>()> work;
    // Not a semaphore: that of GCC 12 can sleep for ever (gcc.gnu.org/bugzilla/show_bug.cgi?id=104928).
    std::condition_variable woken;
    bool done = false, leads = false;  // reasons to wake it; guarded by mutex_
    Status outcome;                    // of the commit
  };
  Status submit(Task& task);
  Status lead();
  Status commit_group(std::vector<Task*>& group);
  Status run_group(std::vector<Task*>& group, Connection::Parts parts, bool& spoilt);
  Status run_all(const std::vector<Task*>& tasks, bool& spoilt);
  std::vector<Task*> take_waiting();

  Connection& connection_;
  RunStore writer_;  // used by the leading thread
  std::mutex mutex_;
  std::vector<Task*> waiting_;  // guarded by mutex_
  bool led_ = false;            // guarded by mutex_
};

// A store whose changes go through a group. Reads use a connection of their own and see committed data. It
// inherits no verb of RunStore, so that the compiler names a verb that is missing here.
class GroupedStore final : public Store {
 public:
  GroupedStore(std::shared_ptr<Group> group, std::unique_ptr<Database> reads,
               std::shared_ptr<const RowSealer> sealer)
      : reads_(std::move(reads), std::move(sealer)), group_(std::move(group)) {}

  Status create_run(const NewRun& run, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.create_run(run, now); });
  }
  Result<ClaimResult> claim(const ClaimRequest& request) override {
    return group_->run([&](RunStore& store) { return store.claim(request); });
  }
  Result<Begun> begin_step(const Lease& lease, const StepStart& start, const std::optional<StepEnd>& previous,
                           const std::optional<ResumeDecision>& resume, WallTime now) override {
    return group_->run(
        [&](RunStore& store) { return store.begin_step(lease, start, previous, resume, now); });
  }
  Result<std::vector<BudgetRow>> end_step(const Lease& lease, const std::optional<StepEnd>& previous,
                                          const std::optional<ResumeDecision>& resume,
                                          WallTime now) override {
    return group_->run([&](RunStore& store) { return store.end_step(lease, previous, resume, now); });
  }
  Status note_resume(const Lease& lease, const ResumeDecision& resume, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.note_resume(lease, resume, now); });
  }
  Result<Finished> finish(const Lease& lease, const std::optional<StepEnd>& last,
                          const std::optional<ResumeDecision>& resume, const AttemptEnd& end,
                          const Overlaps& overlaps, WallTime now) override {
    return group_->run(
        [&](RunStore& store) { return store.finish(lease, last, resume, end, overlaps, now); });
  }
  Result<JudgedAgain> judge_again(const Lease& lease, const std::optional<StepEnd>& last,
                                  const std::optional<ResumeDecision>& resume, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.judge_again(lease, last, resume, now); });
  }
  Status heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) override {
    return group_->run([&](RunStore& store) { return store.heartbeat(lease, now, mono, lease_ms); });
  }
  Status release(const Lease& lease) override {
    return group_->run([&](RunStore& store) { return store.release(lease); });
  }
  Result<std::vector<std::string>> operator_retry(const std::string& run_id, const std::string& phase_id,
                                                  const Operator& who, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.operator_retry(run_id, phase_id, who, now); });
  }
  Result<std::vector<std::string>> operator_skip(const std::string& run_id, const std::string& phase_id,
                                                 const Operator& who, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.operator_skip(run_id, phase_id, who, now); });
  }
  Result<std::vector<std::string>> operator_cancel(const std::string& run_id, const std::string& phase_id,
                                                   const Operator& who, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.operator_cancel(run_id, phase_id, who, now); });
  }
  Result<std::vector<std::string>> operator_approve(const std::string& run_id, const Approved& what,
                                                    const Overlaps& overlaps, const Operator& who,
                                                    WallTime now) override {
    return group_->run(
        [&](RunStore& store) { return store.operator_approve(run_id, what, overlaps, who, now); });
  }
  Status operator_max_attempts(const std::string& run_id, std::int64_t max_attempts, const Operator& who,
                               WallTime now) override {
    return group_->run(
        [&](RunStore& store) { return store.operator_max_attempts(run_id, max_attempts, who, now); });
  }
  Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                         const Operator& who, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.operator_budget(run_id, unit, cap, who, now); });
  }
  Status pay(const Owed& owed, const Told& told, WallTime now) override {
    return group_->run([&](RunStore& store) { return store.pay(owed, told, now); });
  }
  Status put_plan(const std::string& run_id, const PlanRows& plan) override {
    return group_->run([&](RunStore& store) { return store.put_plan(run_id, plan); });
  }
  Status put_inventory(const std::string& key, const std::string& names) override {
    return group_->run([&](RunStore& store) { return store.put_inventory(key, names); });
  }

  Result<Candidate> candidate(const ClaimRequest& request) override { return reads_.candidate(request); }
  Result<bool> holds(const Lease& lease) override { return reads_.holds(lease); }
  Result<std::vector<Owed>> owed() override { return reads_.owed(); }
  Status read_together(const std::function<Status()>& reads) override { return reads_.read_together(reads); }
  Result<RunRow> run(const std::string& run_id) override { return reads_.run(run_id); }
  Result<std::vector<RunRow>> runs(std::size_t most) override { return reads_.runs(most); }
  Result<std::string> plan_text(const std::string& run_id) override { return reads_.plan_text(run_id); }
  Result<std::string> planned_common(const std::string& run_id) override {
    return reads_.planned_common(run_id);
  }
  Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) override {
    return reads_.planned_phase(run_id, phase_id);
  }
  Result<std::string> resolve_run(const std::string& text) override { return reads_.resolve_run(text); }
  Result<std::optional<ForkPoint>> fork_of(const std::string& run_id) override {
    return reads_.fork_of(run_id);
  }
  Result<std::vector<TierRow>> tiers(const std::string& run_id) override { return reads_.tiers(run_id); }
  Result<std::vector<BudgetRow>> budgets(const std::string& run_id) override {
    return reads_.budgets(run_id);
  }
  Result<std::vector<RefusalRow>> refusals(const std::string& run_id) override {
    return reads_.refusals(run_id);
  }
  Result<std::vector<PhaseRow>> phases(const std::string& run_id) override { return reads_.phases(run_id); }
  Result<PhaseRow> phase(const std::string& run_id, const std::string& phase_id) override {
    return reads_.phase(run_id, phase_id);
  }
  Result<std::vector<PhaseRow>> first_phases(const std::string& run_id, std::size_t most) override {
    return reads_.first_phases(run_id, most);
  }
  Result<std::vector<AttemptRow>> attempts_before(const std::string& run_id, const std::string& phase_id,
                                                  std::int64_t before, std::size_t most) override {
    return reads_.attempts_before(run_id, phase_id, before, most);
  }
  Result<std::vector<StepRow>> steps_of_attempt(const std::string& run_id,
                                                const std::string& attempt_id) override {
    return reads_.steps_of_attempt(run_id, attempt_id);
  }
  Result<std::vector<AttemptRow>> attempts(const std::string& run_id, const std::string& phase_id) override {
    return reads_.attempts(run_id, phase_id);
  }
  Result<std::vector<StepRow>> steps(const std::string& run_id, const std::string& phase_id) override {
    return reads_.steps(run_id, phase_id);
  }
  Result<std::vector<EpisodeRow>> episodes(const std::string& run_id, const std::string& phase_id) override {
    return reads_.episodes(run_id, phase_id);
  }
  Result<std::vector<StepRow>> open_steps() override { return reads_.open_steps(); }
  Result<std::vector<LayerRow>> accepted_layers(const std::string& run_id) override {
    return reads_.accepted_layers(run_id);
  }
  Result<std::vector<std::string>> base_layers(const AttemptRow& attempt) override {
    return reads_.base_layers(attempt);
  }
  Result<std::vector<LayerRow>> accepted_beside(const AttemptRow& attempt, std::int64_t after,
                                                std::size_t most) override {
    return reads_.accepted_beside(attempt, after, most);
  }
  Result<std::vector<std::string>> chains(const std::string& run_id) override {
    return reads_.chains(run_id);
  }
  Result<std::vector<LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                        std::int64_t first_seq, std::size_t most) override {
    return reads_.ledger(run_id, chain, first_seq, most);
  }
  Result<std::optional<Head>> head(const std::string& run_id) override { return reads_.head(run_id); }
  Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) override {
    return reads_.cost_rows(run_id, skip);
  }
  Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) override {
    return reads_.usage_rows(run_id, skip);
  }
  Result<std::optional<std::string>> inventory(const std::string& key) override {
    return reads_.inventory(key);
  }

 private:
  RunStore reads_;
  std::shared_ptr<Group> group_;
};

}  // namespace pawl::store::sqlite
