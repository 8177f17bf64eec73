// The outcome of a step whose agent ended by itself after it was told to end.
#include "supervisor/agent.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "agent/server.h"
#include "base/json.h"
#include "os/file.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

class AgentSocketTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(os::make_folders(spool_.path("context"), 0700)); }

  // Reports usage and returns the response.
  std::string post_usage(int tokens) const {
    const std::string body =
        R"({"id":"call","model":"m","input_tokens":)" + std::to_string(tokens) + R"(,"output_tokens":0})";
    const std::string request =
        "POST /v1/usage HTTP/1.1\r\nHost: pawl\r\nConnection: close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    const os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    spool_.path("context/" + std::string(kAgentSocket)).copy(address.sun_path, sizeof address.sun_path);
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(socket.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
    return answer;
  }

  // The run of an agent that reports `tokens` and exits with `code` before it can be signalled.
  sandbox::SandboxRun run_of(int tokens, int code) {
    const agent::Context context{.key = {.run_id = "run", .goal_id = "goal", .episode_id = "fix.1"},
                                 .phase_id = "fix",
                                 .goal = "g",
                                 .model = "m",
                                 .tokens_cap = 50};
    const Job job{.sandbox_run_id = "id", .agent = context};
    auto socket = AgentSocket::open(
        spool_, job, [](std::string_view) {}, [](std::string_view text) { return std::string(text); });
    EXPECT_TRUE(socket) << (socket ? "" : socket.error().message);
    EXPECT_TRUE(post_usage(tokens).starts_with("HTTP/1.1 20"));
    sandbox::SandboxRun run{.outcome = sandbox::Outcome::kExited, .exit_code = code};
    socket->close(run);
    socket->report(run);
    return run;
  }

  testing::TempFolder temp_;
  const Spool spool_{spool_folder(temp_.path(), "id"), std::string(kHashKeySize, 'k')};
};

TEST_F(AgentSocketTest, WhoEndsWhenItIsToldToHasBeenStopped) {
  for (const int code : {0, 3}) {
    const auto run = run_of(60, code);
    EXPECT_EQ(run.outcome, sandbox::Outcome::kSignaled);
    EXPECT_EQ(run.reason, kUsageCapReason);
    EXPECT_EQ(run.exit_code, -1);
  }
}

TEST_F(AgentSocketTest, WhoEndsBelowItsCapHasEnded) {
  const auto run = run_of(40, 3);
  EXPECT_EQ(run.outcome, sandbox::Outcome::kExited);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.reason, "");
}

}  // namespace
}  // namespace pawl::supervisor
