#include "os/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "os/random.h"

namespace pawl::os {
namespace {

TEST(Identity, RoundTripsAndIgnoresAWorkersSuffix) {
  const auto self = this_process();
  EXPECT_EQ(parse_identity(to_text(self)).value(), self);
  EXPECT_EQ(parse_identity(to_text(self) + "/3").value(), self);
  EXPECT_FALSE(parse_identity("host/boot/12").has_value());
  EXPECT_FALSE(parse_identity("host/boot/x/1").has_value());
}

TEST(Identity, TellsTheLivingFromTheDeadAndFromAPidUsedAgain) {
  auto self = this_process();
  EXPECT_EQ(liveness(self), Liveness::kAlive);
  auto reused = self;
  reused.start_ticks += 1;
  EXPECT_EQ(liveness(reused), Liveness::kDead);
  auto rebooted = self;
  rebooted.boot_id = "another";
  EXPECT_EQ(liveness(rebooted), Liveness::kDead);
  auto elsewhere = self;
  elsewhere.host += "x";
  EXPECT_EQ(liveness(elsewhere), Liveness::kUnknown);
  EXPECT_FALSE(kill_process(elsewhere, 0)) << "nobody knows";
}

TEST(SpawnDetached, RunsInItsOwnSessionWithNothingInherited) {
  std::string log = "/tmp/pawl-spawn-test.XXXXXX";
  const UniqueFd leaked(mkstemp(log.data()));  // no close-on-exec
  const auto pid =
      spawn_detached({"/bin/sh", "-c", "ls /proc/self/fd | wc -l; ps -o sess= -p $$; echo $$; env"},
                     {"ONLY=this", "PATH=/usr/bin:/bin"}, log);
  ASSERT_TRUE(pid.has_value());
  ASSERT_TRUE(wait_for_exit(*pid, 10'000).gone);
  const std::string output = read_file(log, 10'000).value();
  unlink(log.c_str());
  EXPECT_EQ(output.substr(0, 2), "4\n") << "0, 1, 2 and that of the listing itself: " << output;
  EXPECT_NE(output.find("ONLY=this"), std::string::npos);
  EXPECT_EQ(output.find("HOME="), std::string::npos);
  const std::string id = std::to_string(*pid);
  EXPECT_NE(output.find(id + "\n" + id + "\n"), std::string::npos) << "it leads its session: " << output;
}

TEST(KillProcess, EndsExactlyThatProcess) {
  const auto pid = spawn_detached({"/bin/sleep", "1000"}, {}, "/dev/null");
  ASSERT_TRUE(pid.has_value());
  EXPECT_FALSE(wait_for_exit(*pid, 0).gone);
  auto identity = this_process();
  identity.pid = *pid;
  identity.start_ticks = 1;  // not the start time of this process
  EXPECT_TRUE(kill_process(identity, 1000)) << "it is gone, whoever has its number now";
  EXPECT_FALSE(wait_for_exit(*pid, 0).gone);
  kill(static_cast<pid_t>(*pid), SIGKILL);
  EXPECT_TRUE(wait_for_exit(*pid, 10'000).gone);
}

TEST(Uuid7, CarriesItsVersionAndSortsByTime) {
  SystemRandom random;
  const std::string early = uuid7({1'000'000'000'000}, random);
  const std::string late = uuid7({1'000'000'001'000}, random);
  EXPECT_EQ(early.size(), 36U);
  EXPECT_EQ(early[14], '7');
  EXPECT_NE(std::string("89ab").find(early[19]), std::string::npos);
  EXPECT_LT(early, late);
  EXPECT_NE(uuid7({0}, random), uuid7({0}, random));
}

}  // namespace
}  // namespace pawl::os
