// A process of the same user cannot read a supervisor's memory or environment: not before its sandbox starts,
// not while it runs, not after it ended. Root may read every process, so this runs as an ordinary user only.
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/outside.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

bool is_open_to_us(std::int64_t pid) {
  char byte = 0;
  const iovec to{.iov_base = &byte, .iov_len = 1};
  const iovec from{.iov_base = &byte, .iov_len = 1};  // any address: access is refused first
  const bool memory = process_vm_readv(static_cast<pid_t>(pid), &to, 1, &from, 1, 0) == 1 || errno != EPERM;
  return memory ||
         os::read_file("/proc/" + std::to_string(pid) + "/environ", testing::kProcFileBytesMax).has_value();
}

template <typename Is>
bool comes(const Is& is) {
  for (int i = 0; i < 3000 && !is(); ++i) os::SystemClock().sleep_ms(1);
  return is();
}

class OfOrdinaryUser : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(geteuid(), 0) << "run it by `ctest -R supervisor.as_ordinary_user`"; }

  void start(const std::string& script) {
    ASSERT_TRUE(client_->start(id_, sandbox::default_backend(), {.cmd = {"sh", "-c", script}}, {}, {}));
  }
  // Found by its command line, because its identity is not written yet.
  std::int64_t pid() const {
    for (const auto& [pid, seen] : testing::seen_processes())
      if (seen.words.find(spool_.folder()) != std::string::npos && pid != getpid()) return pid;
    return 0;
  }
  bool has_printed(std::string_view word) const {
    return os::read_file(spool_.path("output"), 1000).value_or("").find(word) != std::string::npos;
  }
  void end() {
    static_cast<void>(client_->wait(id_, [] { return false; }));
    EXPECT_EQ(*client_->find(id_), supervisor::Found::kSpooled);
  }

  testing::TempFolder temp_;
  os::SystemRandom random_;
  const std::string id_ = os::uuid7(os::SystemClock().wall(), random_);
  const Spool spool_{spool_folder(temp_.path(), id_), testing::key_of_step(id_)};
  std::unique_ptr<supervisor::StepRunner> client_ = make_step_runner(testing::runner_options(temp_.path()));
};

TEST_F(OfOrdinaryUser, SupervisorIsClosedToItsUserBeforeItsSandbox) {
  ASSERT_TRUE(os::make_folders(spool_.folder(), 0700));
  auto lock = os::FileLock::lock(spool_.path("lock"));  // the supervisor waits for it
  ASSERT_TRUE(lock);
  start("true");
  ASSERT_TRUE(comes([&] { return pid() != 0 && !is_open_to_us(pid()); }));
  EXPECT_FALSE(spool_.identity());
  { const auto released = *std::move(lock); }
  end();
}

TEST_F(OfOrdinaryUser, SupervisorIsClosedToItsUserWhileItsSandboxRuns) {
  start("echo up; sleep 0.3");
  ASSERT_TRUE(comes([&] { return has_printed("up"); }));
  EXPECT_FALSE(is_open_to_us(spool_.identity()->pid));
  end();
}

TEST_F(OfOrdinaryUser, SupervisorIsClosedToItsUserAfterItsSandbox) {
  auto workspaces = workspace::Workspaces::open(temp_.path());
  ASSERT_TRUE(workspaces);
  {
    const auto alone = workspaces->hold_alone();  // the supervisor waits for it before it stores results
    ASSERT_TRUE(alone);
    start("echo up");
    ASSERT_TRUE(comes([&] { return has_printed("up"); }));
    const auto pid = std::to_string(spool_.identity()->pid);
    ASSERT_TRUE(comes([&] { return testing::proc_text(pid + "/task/" + pid + "/children").empty(); }));
    EXPECT_FALSE(is_open_to_us(std::stoll(pid)));
    EXPECT_FALSE(spool_.has_result());
  }
  end();
}

}  // namespace
}  // namespace pawl::supervisor
