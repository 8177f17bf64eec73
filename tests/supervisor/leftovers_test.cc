// Runs steps under real supervisors and kills some of them at any moment. Checks from outside that nothing is
// left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/outside.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

using testing::processes_with;
using testing::what_stays;

constexpr int kBatch = 16;
constexpr int kBeginPatienceMs = 60'000;

// Processes that only Pawl ends: a daemon in its own session without a parent, which ignores signals and
// prints nothing, and its child. The script waits until the daemon is up.
constexpr std::string_view kDaemon =
    "mkfifo /tmp/up; (setsid sh -c 'trap \"\" TERM HUP INT; exec >/dev/null 2>&1; sleep 300 & echo >/tmp/up; "
    "sleep 300' &); "
    "read up </tmp/up; sleep 300 & ";

class Leftovers : public ::testing::Test {
 protected:
  enum class Kill { kEarly, kAtWork };

  // Runs a batch of steps at once. Kills the supervisors of the first `kills` steps, which would run for
  // minutes. The other steps end and leave a daemon.
  void run_batch(std::size_t kills) {
    std::vector<std::string> ids;
    for (int i = 0; i < kBatch; ++i) {
      ids.push_back(os::uuid7(os::SystemClock().wall(), random_));
      all_.insert(ids.back());
      const std::string end = ids.size() <= kills ? "echo begun; exec sleep 300" : "exit 0";
      ASSERT_TRUE(client_->start(ids.back(), sandbox::default_backend(),
                                 step(ids.back(), std::string(kDaemon) + end), {}, {}));
    }
    for (std::size_t i = 0; i < kills; ++i) {
      kill_supervisor_of(ids[i], i == 0 ? Kill::kEarly : Kill::kAtWork);
      settle(ids[i]);
    }
    for (std::size_t i = kills; i < ids.size(); ++i) settle(ids[i]);
  }

  // The marker is in the environment of every process that the step starts, where it cannot be lost.
  sandbox::SandboxSpec step(const std::string& id, const std::string& script) const {
    return {.env = {"STEP=" + temp_.path() + "/" + id}, .cmd = {"sh", "-c", script}};
  }

  Spool spool_of(const std::string& id) const {
    return {spool_folder(temp_.path(), id), testing::key_of_step(id)};
  }

  // Kills the supervisor a few milliseconds after it has begun, however late a busy machine lets it begin.
  void kill_supervisor_of(const std::string& id, Kill when) {
    const Spool spool = spool_of(id);
    const auto has_begun = [&] {
      return os::read_file(spool.path("output"), 100).value_or("").find("begun") != std::string::npos;
    };
    const auto is_time = [&] { return when == Kill::kAtWork ? has_begun() : spool.identity().has_value(); };
    for (int i = 0; i < kBeginPatienceMs && !is_time(); ++i) os::SystemClock().sleep_ms(1);
    ASSERT_TRUE(is_time()) << "it has not begun";
    os::SystemClock().sleep_ms(std::uniform_int_distribution<int>(0, 4)(moments_));
    const os::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, spool.identity()->pid, 0)));
    ASSERT_TRUE(pidfd) << "it ended by itself";
    ASSERT_EQ(syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0), 0);
    // The supervisor is a child of the test; its exit status shows whether it was alive.
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &ended, WEXITED | WNOWAIT), 0);
    ASSERT_TRUE(ended.si_code == CLD_KILLED && ended.si_status == SIGKILL) << ended.si_code;
    ++(when == Kill::kAtWork ? killed_at_work_ : killed_early_);
  }

  void settle(const std::string& id) {
    static_cast<void>(client_->wait(id, [] { return false; }));
    auto found = client_->find(id);
    // The init of a sandbox holds the lock until every process in it is dead.
    for (; found && *found == supervisor::Found::kRunning; found = client_->find(id))
      os::SystemClock().sleep_ms(1);
    ASSERT_TRUE(found);
    EXPECT_EQ(processes_with(id), std::vector<std::string>()) << "its lock is free";
    if (*found == supervisor::Found::kSpooled) {
      const auto job = spool_of(id).read_job();
      ASSERT_TRUE(job);
      const auto run = client_->collect(id, sandbox::spec_hash(job->spec));
      ASSERT_TRUE(run);
      if (run->outcome == sandbox::Outcome::kExited && run->exit_code == 0) ++finished_;
    }
    if (*found == supervisor::Found::kNothing) {
      ASSERT_TRUE(client_->abandon(id));
    }
    client_->forget(id);
  }

  void expect_nothing_left() {
    const std::vector<std::string> nothing;
    // An abandoned supervisor may still be starting, on a busy machine and under sanitizers.
    EXPECT_EQ(what_stays([&] { return processes_with(temp_.path()); }), nothing);
    EXPECT_EQ(what_stays([&] { return beyond(orphans_before_, testing::orphans_in_namespaces()); }), nothing);
    EXPECT_EQ(what_stays([&] { return beyond(mounts_before_, testing::mounts_with(temp_.path())); }),
              nothing);
    EXPECT_EQ(testing::cgroups_of(all_), nothing);
    for (const char* folder : {"spool", "work", "tmp"})
      EXPECT_EQ(os::list_folder(temp_ / folder).value_or(nothing), nothing) << folder;
    EXPECT_EQ(what_stays([&] { return beyond(files_before_, files()); }), nothing);
    // The kernel frees namespaces with a delay, and sandboxes of other tests come and go. One low count is
    // enough, because a leaked namespace is in every count.
    const std::int64_t most = namespaces_before_ + 4 * 16;
    std::int64_t fewest = testing::namespaces_of_kernel();
    for (int i = 0; i < 1200 && fewest > most; ++i) {
      os::SystemClock().sleep_ms(100);
      fewest = std::min(fewest, testing::namespaces_of_kernel());
    }
    EXPECT_LE(fewest, most);
  }

  // Files of Pawl in /tmp; folders of other tests come and go.
  static std::vector<std::string> files() {
    auto names = *os::list_folder("/tmp");
    std::erase_if(names, [](const auto& name) {
      return !name.starts_with("pawl-") || name.starts_with("pawl-test-") || name.starts_with("pawl-user-");
    });
    return names;
  }

  static std::vector<std::string> beyond(const std::vector<std::string>& before,
                                         std::vector<std::string> now) {
    std::erase_if(now, [&](const auto& each) { return std::ranges::find(before, each) != before.end(); });
    return now;
  }

  testing::TempFolder temp_;
  os::SystemRandom random_;
  std::minstd_rand moments_{7};
  std::unique_ptr<supervisor::StepRunner> client_ = make_step_runner(testing::runner_options(temp_.path()));
  const std::vector<std::string> orphans_before_ = testing::orphans_in_namespaces(), files_before_ = files(),
                                 mounts_before_ = testing::mounts_with(temp_.path());
  const std::int64_t namespaces_before_ = testing::namespaces_of_kernel();
  std::set<std::string> all_;
  int killed_at_work_ = 0, killed_early_ = 0, finished_ = 0;
};

TEST_F(Leftovers, TwoHundredSandboxesInBatchesOfSixteenLeaveNothing) {
  for (int batch = 0; batch < 13; ++batch) run_batch(0);
  EXPECT_EQ(finished_, 13 * kBatch);
  expect_nothing_left();
}

// An operator, the process that aborted the run and the process that watches the step may each give it up and
// forget it.
TEST_F(Leftovers, SeveralMayGiveUpAStepWhileItStarts) {
  for (int round = 0; round < 40; ++round) {
    const auto id = os::uuid7(os::SystemClock().wall(), random_);
    const auto give_up = [&](int after_ms) {
      const auto client = make_step_runner(testing::runner_options(temp_.path()));
      os::SystemClock().sleep_ms(after_ms);
      const auto abandoned = client->abandon(id);
      EXPECT_TRUE(abandoned) << abandoned.error().message;
      client->forget(id);
    };
    std::thread first(give_up, round % 8), second(give_up, round % 8);
    const auto started = client_->start(id, sandbox::default_backend(), step(id, "sleep 300"), {}, {});
    EXPECT_TRUE(started) << started.error().message;
    // The start may have come after both; then the waiting process sees that the step is abandoned.
    const auto waited = client_->wait(id, [] { return true; });
    EXPECT_TRUE(waited || waited.error().kind == ErrorKind::kCancelled) << waited.error().message;
    first.join();
    second.join();
    give_up(0);
    all_.insert(id);
  }
  expect_nothing_left();
}

// Another build may have begun it. Every backend of this build then ends what it finds of the step.
TEST_F(Leftovers, AStepOfAnUnknownBackendIsGivenUpByEveryBackend) {
  const auto id = os::uuid7(os::SystemClock().wall(), random_);
  all_.insert(id);
  ASSERT_TRUE(client_->start(id, sandbox::default_backend(),
                             step(id, std::string(kDaemon) + "echo begun; exec sleep 300"), {}, {}));
  kill_supervisor_of(id, Kill::kAtWork);
  const Spool spool = spool_of(id);
  auto job = *spool.read_job();
  job.backend = "unknown";
  ASSERT_TRUE(spool.write_job(job));
  settle(id);
  expect_nothing_left();
}

TEST_F(Leftovers, AThousandStepsOfWhichAHundredLoseTheirSupervisorLeaveNothing) {
  int batches = 0;
  for (; batches * kBatch < 1000; ++batches) {
    run_batch(3);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(killed_at_work_, 100);
  EXPECT_EQ(finished_, batches * kBatch - killed_at_work_ - killed_early_);
  expect_nothing_left();
  RecordProperty("steps", batches * kBatch);
  RecordProperty("killed_at_work", killed_at_work_);
  RecordProperty("killed_early", killed_early_);
}

}  // namespace
}  // namespace pawl::supervisor
