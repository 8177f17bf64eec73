// Steps under real supervisors, some of which are killed at any moment: what is left, seen from outside.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sandbox/namespace/cgroup.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

constexpr int kBatch = 16;
constexpr std::uint64_t kProcFileBytesMax = 4 << 20;

// Processes whose command line holds `word`: supervisors, the inits of their sandboxes, what runs there.
std::vector<std::string> processes_with(std::string_view word) {
  std::vector<std::string> out;
  const auto pids = os::list_folder("/proc");
  for (const auto& pid : *pids) {
    const auto line = os::read_file("/proc/" + pid + "/cmdline", kProcFileBytesMax);
    if (line && line->find(word) != std::string::npos) out.push_back(pid + " " + *line);
  }
  return out;
}

// Objects of the kernel that no process need hold: of slabinfo(5), so only root sees them.
std::int64_t network_namespaces() {
  const auto slabs = os::read_file("/proc/slabinfo", kProcFileBytesMax);
  const auto at = slabs ? slabs->find("\nnet_namespace ") : std::string::npos;
  return at == std::string::npos ? 0 : std::stoll(slabs->substr(at + 15));
}

class Leftovers : public ::testing::Test {
 protected:
  // A batch of steps at once; `kill_each` of them lose their supervisor at some moment.
  void run_batch(int kills) {
    std::vector<std::string> ids;
    for (int i = 0; i < kBatch; ++i) {
      ids.push_back(os::uuid7(os::SystemClock().wall(), random_));
      sandbox::SandboxSpec spec{
          .cmd = {"sh", "-c", "sleep 0.0$(($$ % 3)); sleep 0.01 & exit 0 # " + temp_.path()}};
      ASSERT_TRUE(client_->start(ids.back(), spec, {}, ""));
    }
    std::ranges::shuffle(ids, moments_);
    for (int i = 0; i < kills; ++i) kill_supervisor_of(ids[static_cast<std::size_t>(i)]);
    for (const auto& id : ids) settle(id);
    all_.insert(all_.end(), ids.begin(), ids.end());
  }

  // Some moments after it has begun, however late a busy machine lets it begin.
  void kill_supervisor_of(const std::string& id) {
    const Spool spool(spool_folder(temp_.path(), id));
    for (int i = 0; i < 10'000 && !spool.identity(); ++i) os::SystemClock().sleep_ms(1);
    os::SystemClock().sleep_ms(std::uniform_int_distribution<int>(0, 4)(moments_));
    const auto identity = spool.identity();
    if (identity && kill(static_cast<pid_t>(identity->pid), SIGKILL) == 0) ++killed_;
  }

  void settle(const std::string& id) {
    static_cast<void>(client_->wait(id, [] { return false; }));
    auto found = client_->find(id);
    // The init of a sandbox holds the lock until all in there are dead.
    for (; found && *found == sandbox::Found::kRunning; found = client_->find(id))
      os::SystemClock().sleep_ms(1);
    ASSERT_TRUE(found);
    if (*found == sandbox::Found::kSpooled) ++finished_;
    if (*found == sandbox::Found::kNothing) {
      ASSERT_TRUE(client_->abandon(id));
    }
    client_->forget(id);
  }

  void expect_nothing_left() {
    // A supervisor that nobody wants any more may be still starting, on a busy machine and under sanitizers.
    for (int i = 0; i < 600 && !processes_with(temp_.path()).empty(); ++i) os::SystemClock().sleep_ms(100);
    EXPECT_EQ(processes_with(temp_.path()), std::vector<std::string>());
    const auto mounts = os::read_file("/proc/self/mountinfo", kProcFileBytesMax);
    EXPECT_EQ(mounts->find(temp_.path()), std::string::npos);
    for (const auto& id : all_)
      for (const auto& controller : sandbox::cgroup_home().controllers)
        ASSERT_FALSE(os::exists(controller.folder + "/pawl-" + id)) << controller.folder;
    EXPECT_EQ(*os::list_folder(os::join(temp_.path(), "spool")), std::vector<std::string>());
    // The kernel takes them apart at its leisure, and counts what a processor keeps for the next one.
    const std::int64_t most = namespaces_before_ + 64;
    for (int i = 0; i < 1200 && network_namespaces() > most; ++i) os::SystemClock().sleep_ms(100);
    EXPECT_LE(network_namespaces(), most);
  }

  testing::TempFolder temp_;
  os::SystemRandom random_;
  std::minstd_rand moments_{7};
  std::unique_ptr<sandbox::SandboxClient> client_ = make_client(temp_.path(), PAWL_SUPERVISOR, "namespace");
  std::int64_t namespaces_before_ = network_namespaces();
  std::vector<std::string> all_;
  int killed_ = 0, finished_ = 0;
};

TEST_F(Leftovers, TwoHundredSandboxesInBatchesOfSixteenLeaveNothing) {
  for (int batch = 0; batch < 13; ++batch) run_batch(0);
  EXPECT_EQ(finished_, 13 * kBatch);
  expect_nothing_left();
}

// An operator, whoever aborted the run, and whoever watches the step: each may give it up and forget it.
TEST_F(Leftovers, SeveralMayGiveUpAStepWhileItStarts) {
  for (int round = 0; round < 40; ++round) {
    const auto id = os::uuid7(os::SystemClock().wall(), random_);
    const auto give_up = [&](int after_ms) {
      const auto client = make_client(temp_.path(), PAWL_SUPERVISOR, "namespace");
      os::SystemClock().sleep_ms(after_ms);
      const auto abandoned = client->abandon(id);
      EXPECT_TRUE(abandoned) << abandoned.error().message;
      client->forget(id);
    };
    std::thread first(give_up, round % 8), second(give_up, round % 8);
    const auto started = client_->start(id, {.cmd = {"sh", "-c", "sleep 100 # " + temp_.path()}}, {}, "");
    EXPECT_TRUE(started) << started.error().message;
    // It may have come after both: then whoever watches it sees that nobody wants it.
    const auto waited = client_->wait(id, [] { return true; });
    EXPECT_TRUE(waited || waited.error().kind == ErrorKind::kCancelled) << waited.error().message;
    first.join();
    second.join();
    give_up(0);
    all_.push_back(id);
  }
  expect_nothing_left();
}

TEST_F(Leftovers, AThousandStepsOfWhichAHundredLoseTheirSupervisorLeaveNothing) {
  int batches = 0;
  for (; batches * kBatch < 1000 || killed_ < 100; ++batches) {
    ASSERT_LT(batches, 200) << "only " << killed_ << " were caught alive";
    run_batch(killed_ < 100 ? 3 : 0);
  }
  EXPECT_GE(finished_, batches * kBatch - killed_);
  expect_nothing_left();
  RecordProperty("steps", batches * kBatch);
  RecordProperty("killed", killed_);
}

}  // namespace
}  // namespace pawl::supervisor
