#include "store/sqlite/group.h"

#include <utility>

namespace pawl::store::sqlite {

Status Group::submit(Task& task) {
  {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&task);
    if (std::exchange(led_, true)) task.woken.wait(lock, [&] { return task.done || task.leads; });
    if (task.done) return std::move(task.outcome);
  }
  return lead();
}

// Returns the outcome for the leading task as well: it was among the waiting tasks.
Status Group::lead() {
  std::vector<Task*> group;
  Status outcome = commit_group(group);
  const std::lock_guard guard(mutex_);
  led_ = !waiting_.empty();
  if (led_) {
    waiting_.front()->leads = true;
    waiting_.front()->woken.notify_one();
  }
  for (auto* task : group) {
    task->outcome = outcome;
    task->done = true;
    task->woken.notify_one();
  }
  return outcome;
}

std::vector<Group::Task*> Group::take_waiting() {
  const std::lock_guard guard(mutex_);
  return std::exchange(waiting_, {});
}

// `group` receives every task that shares the returned outcome.
Status Group::commit_group(std::vector<Task*>& group) {
  bool must_roll_back = false;
  auto outcome = run_group(group, Connection::Parts::kPlain, must_roll_back);
  return must_roll_back ? run_group(group, Connection::Parts::kSavepoints, must_roll_back) : outcome;
}

// Runs the tasks of `group` and those that join meanwhile. Sets `must_roll_back` when a part could not be
// rolled back alone, so that the whole transaction was.
Status Group::run_group(std::vector<Task*>& group, Connection::Parts parts, bool& must_roll_back) {
  auto transaction = pawl::sqlite::Transaction::begin(connection_, "group");
  if (!transaction) {
    const auto some = take_waiting();
    group.insert(group.end(), some.begin(), some.end());
    return std::unexpected(std::move(transaction).error());
  }
  const auto shared = connection_.share_transaction(parts);
  writer_.forget_heads();
  must_roll_back = false;
  // A group that runs again runs first, and its tasks are in `group` already.
  for (auto some = group.empty() ? take_waiting() : group; !some.empty(); some = take_waiting()) {
    if (group.empty() || some.front() != group.front()) group.insert(group.end(), some.begin(), some.end());
    PAWL_OK(run_all(some, must_roll_back));
    if (must_roll_back) return {};
  }
  PAWL_OK(writer_.sign_heads());
  return transaction->commit();
}

Status Group::run_all(const std::vector<Task*>& tasks, bool& must_roll_back) {
  for (auto* task : tasks) {
    const auto error = task->work();
    // A full disk or a bad page makes SQLite roll back the whole transaction, with the changes of all tasks
    // (sqlite.org/lang_transaction.html).
    if (!connection_.in_transaction())
      return std::unexpected(
          error ? *error
                : Error{.kind = ErrorKind::kIndeterminate,
                        .message = "database " + connection_.path() + ": the transaction was taken back"});
    must_roll_back = connection_.must_roll_back();
    if (must_roll_back) return {};
  }
  return {};
}

}  // namespace pawl::store::sqlite
