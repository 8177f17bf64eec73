#include "os/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "os/clock.h"
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

TEST(SpawnDetached, GivesTheProcessItsInput) {
  std::string log = "/tmp/pawl-spawn-test.XXXXXX";
  const UniqueFd file(mkstemp(log.data()));
  const std::string input = std::string("a\0\n", 3) + std::string(kInputBytesMax - 3, 'x');
  const auto pid = spawn_detached({"/bin/sh", "-c", "cat"}, {"PATH=/usr/bin:/bin"}, log, input);
  ASSERT_TRUE(pid.has_value());
  ASSERT_TRUE(wait_for_exit(*pid, 10'000).gone) << "the pipe has an end";
  EXPECT_EQ(read_file(log, kInputBytesMax).value(), input);
  unlink(log.c_str());
}

constexpr std::int64_t kPatienceMs = 60'000;

Result<Printed> output_of_script(const std::string& script, std::int64_t timeout_ms = kPatienceMs) {
  return output_of({"sh", "-c", script}, timeout_ms, 100'000);
}

TEST(OutputOf, IsWhatTheProgramPrintsAndHowItEnds) {
  const auto good = output_of_script("echo one; sleep 0.2; echo two");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->text, "one\ntwo\n");
  EXPECT_EQ(good->code, 0);
  EXPECT_EQ(output_of_script("exit 3")->code, 3);
  EXPECT_EQ(output_of_script("kill -9 $$")->code, std::nullopt);
  EXPECT_EQ(output_of({"/absent/program"}, kPatienceMs, 1)->code, 127);
  EXPECT_EQ(output_of_script("cat")->text, "") << "its input is empty";
  EXPECT_EQ(output_of_script("exec >&-; sleep 0.2; exit 4")->code, 4) << "it closed its stdout long before";
  EXPECT_EQ(output_of_script("head -c 100000 /dev/zero")->text.size(), 100'000U);
}

TEST(OutputOf, DoesNotWaitForWhatTheProgramLeaves) {
  const auto left = output_of_script("sleep 300 & echo $!");
  ASSERT_TRUE(left);
  kill(static_cast<pid_t>(std::atoi(left->text.c_str())), SIGKILL);
}

TEST(OutputOf, EndsAProgramThatIsTooSlowOrPrintsTooMuch) {
  EXPECT_EQ(output_of_script("sleep 300", 100).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(output_of_script("exec >&-; sleep 300", 100).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(output_of_script("head -c 100001 /dev/zero").error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(output_of_script("yes").error().kind, ErrorKind::kExhausted);
}

// Puts `bytes` in the place of stdin, and takes them.
Result<std::string> taken_of(const std::string& bytes) {
  const UniqueFd before(dup(STDIN_FILENO));
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  auto out = take_standard_input();
  char byte = 0;
  EXPECT_EQ(read(STDIN_FILENO, &byte, 1), 0) << "what follows reads /dev/null";
  if (before) dup2(before.get(), STDIN_FILENO);
  return out;
}

TEST(TakeStandardInput, ReadsItOnce) {
  for (const auto& bytes : {std::string(), std::string("a\0b", 3), std::string(kInputBytesMax, 'x')})
    EXPECT_EQ(taken_of(bytes).value_or("none"), bytes);
  EXPECT_FALSE(taken_of(std::string(kInputBytesMax + 1, 'x')));
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

// While it exists, this process cannot open another descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

ProcessIdentity identity_of(std::int64_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096).value();
  std::string_view fields = std::string_view(stat).substr(stat.rfind(')'));
  for (int field = 2; field < 22; ++field) fields.remove_prefix(fields.find(' ') + 1);
  auto identity = this_process();
  identity.pid = pid;
  identity.start_ticks = std::stoull(std::string(fields));
  return identity;
}

TEST(Liveness, AProcessThatCannotBeLookedAtIsNotTakenForGone) {
  const auto pid = spawn_detached({"/bin/sleep", "1000"}, {}, "/dev/null");
  ASSERT_TRUE(pid.has_value());
  const auto identity = identity_of(*pid);
  ASSERT_EQ(liveness(identity), Liveness::kAlive);
  {
    const NoDescriptors none;
    EXPECT_EQ(liveness(identity), Liveness::kUnknown);
    EXPECT_FALSE(wait_for_exit(*pid, 0).gone);
    EXPECT_FALSE(kill_process(identity, 0));
  }
  EXPECT_EQ(liveness(identity), Liveness::kAlive) << "nobody killed it";
  EXPECT_TRUE(kill_process(identity, 10'000));
  EXPECT_EQ(liveness(identity), Liveness::kDead);
  EXPECT_TRUE(wait_for_exit(*pid, 0).gone);
}

// The end of a killed process takes longer than the time until the first of the signals.
TEST(KillProcess, WaitsOnWhenASignalArrives) {
  const auto pid = spawn_detached({"/bin/sleep", "1000"}, {}, "/dev/null");
  ASSERT_TRUE(pid.has_value());
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, &before);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 200},
                        .it_value = {.tv_sec = 0, .tv_usec = 1}};
  setitimer(ITIMER_REAL, &often, nullptr);
  EXPECT_TRUE(kill_process(identity_of(*pid), 10'000));
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

// All that is in a pipe until its end.
std::string all_of(const UniqueFd& from) {
  std::string out;
  char bytes[64];
  for (ssize_t got = 0; (got = read(from.get(), bytes, sizeof bytes)) > 0;)
    out.append(bytes, static_cast<std::size_t>(got));
  return out;
}

TEST(SpawnPiped, IsHeardAndSpokenTo) {
  auto cat = spawn_piped({"cat"});
  ASSERT_TRUE(cat);
  ASSERT_EQ(write(cat->to.get(), "hello", 5), 5);
  cat->to.reset();
  EXPECT_EQ(all_of(cat->from), "hello");
  EXPECT_EQ(wait_for_exit(cat->pid, 10'000).code, 0);
  const auto none = spawn_piped({"no-such-program"});
  ASSERT_TRUE(none);
  EXPECT_EQ(all_of(none->from), "") << "its end is seen";
  EXPECT_EQ(wait_for_exit(none->pid, 10'000).code, 127);
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
