// HOME of agents, under real supervisors.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/server.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/supervisor.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

constexpr int kSaysPatienceMs = 60'000;

// An agent of the phase `fix`.
agent::Context agent_of(std::int64_t attempt, std::string episode_id) {
  return {.key = {.run_id = "run", .goal_id = "fix", .episode_id = std::move(episode_id)},
          .phase_id = "fix",
          .goal = "g",
          .model = "m",
          .attempt = attempt};
}

class Homes : public ::testing::Test {
 protected:
  std::string start(const std::string& script, const std::optional<agent::Context>& agent,
                    const secrets::Redactor::Values& credentials) {
    const auto id = os::uuid7(os::SystemClock().wall(), random_);
    sandbox::SandboxSpec spec{.cmd = {"sh", "-c", script}};
    if (agent) spec.copy_in = {{.src = "", .dst = "/pawl"}};
    std::optional<AgentStep> step;
    if (agent) step = {.context = *agent, .credentials = credentials, .fresh_home = fresh_};
    EXPECT_TRUE(runner_->start(id, sandbox::default_backend(), spec, {}, step));
    return id;
  }

  std::string output_of(const std::string& id) const {
    return os::read_file(step_path(temp_.path(), id, StepFile::kOutput), 4096).value_or("");
  }

  // The output of the script. Its step and the supervisor are killed once it has ended.
  std::string run(const std::string& script, const std::optional<agent::Context>& agent,
                  const secrets::Redactor::Values& credentials = {}) {
    const std::string end = "begun\n";
    const auto id = start(script + "; echo begun; exec sleep 300", agent, credentials);
    for (int i = 0; i < kSaysPatienceMs && !output_of(id).ends_with(end); ++i) os::SystemClock().sleep_ms(1);
    auto output = output_of(id);
    EXPECT_TRUE(output.ends_with(end)) << output;
    EXPECT_TRUE(runner_->abandon(id));
    runner_->forget_lost(id);
    return output.substr(0, output.size() - std::min(output.size(), end.size()));
  }

  std::string hand_on(const std::string& from, const std::string& to,
                      const secrets::Redactor::Values& credentials = {}) {
    return runner_->hand_home_on("run", from, to, credentials).value_or("an error");
  }

  std::vector<std::string> homes() const {
    return os::list_folder(temp_ / std::string(kHomes)).value_or(std::vector<std::string>());
  }

  std::string lacks(const agent::Context& agent, const secrets::Redactor::Values& credentials) {
    return runner_->home_lacks(agent.key, "fix." + std::to_string(agent.attempt), credentials)
        .value_or("an error");
  }

  bool fresh_ = false;  // AgentStep::fresh_home of the next step
  testing::TempFolder temp_;
  os::SystemRandom random_;
  std::unique_ptr<StepRunner> runner_ = make_step_runner(testing::runner_options(temp_.path()));
};

TEST_F(Homes, ALaterExecutionFindsWhatTheKilledOneLeft) {
  const auto agent = agent_of(1, "fix.1");
  run("echo mine >~/file; mkdir ~/closed; chmod 0 ~/closed", agent);
  EXPECT_EQ(run("cat ~/file; stat -c '%a %U' ~/closed; echo more >>~/file", agent), "mine\n0 agent\n");
  run("true", agent);
  EXPECT_EQ(run("cat ~/file", agent), "mine\nmore\n");
}

TEST_F(Homes, NoOtherEpisodeAttemptOrStepFindsIt) {
  run("touch ~/file", agent_of(1, "fix.1.e1"));
  EXPECT_EQ(run("ls -A ~", agent_of(1, "fix.1.e2")), "");
  EXPECT_EQ(run("ls -A ~", agent_of(2, "fix.2.e1")), "");
  EXPECT_EQ(run("ls -A ~; touch ~/file", std::nullopt), "");
  EXPECT_EQ(run("ls -A ~", std::nullopt), "") << "of a gate's step it is gone with the step";
  EXPECT_EQ(run("ls -A ~", agent_of(1, "fix.1.e1")), "file\n");
}

TEST_F(Homes, EndWithTheirAttemptWhateverTheyHold) {
  ASSERT_TRUE(os::make_folders(temp_ / "outside"));
  ASSERT_TRUE(os::write_atomically(temp_ / "outside/file", "stays"));
  run("ln -s " + temp_ / "outside" +
          " ~/link; mkdir -p ~/a/b/c; touch ~/a/b/c/d; chmod 0 ~/a/b ~/a; chmod 0 ~",
      agent_of(1, "fix.1.e1"));
  run("mkfifo ~/fifo; cd ~; for i in $(seq 200); do mkdir d && cd d; done", agent_of(1, "fix.1.e2"));
  run("touch ~/file", agent_of(11, "fix.11"));
  EXPECT_EQ(homes(), (std::vector<std::string>{"run.fix.1", "run.fix.11"}));
  runner_->forget_homes("run", "fix.1");
  EXPECT_EQ(homes(), std::vector<std::string>{"run.fix.11"});
  EXPECT_EQ(*os::read_file(temp_ / "outside/file", 100), "stays");
  EXPECT_EQ(run("ls -A ~", agent_of(1, "fix.1.e1")), "");
  runner_->forget_homes("run", "fix.1");
  runner_->forget_homes("run", "fix.1");
  runner_->forget_homes("run", "fix.11");
  EXPECT_EQ(homes(), std::vector<std::string>());
}

TEST_F(Homes, AreHandedOnToTheNextAttemptOnce) {
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "home");
  run("echo mine >~/file; mkdir ~/closed; chmod 0 ~/closed", agent_of(1, "fix.1"));
  run("touch ~/other", agent_of(1, "fox.1"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(hand_on("fix.1", "fix.2"), "");
  EXPECT_EQ(run("cat ~/file; stat -c '%a %U' ~/closed", agent_of(2, "fix.2")), "mine\n0 agent\n");
  runner_->forget_homes("run", "fix.1");
  EXPECT_EQ(hand_on("fix.1", "fix.3"), "home");
  EXPECT_EQ(run("cat ~/file", agent_of(2, "fix.2")), "mine\n") << "it belongs to the second attempt now";
}

// A crash may come between the two renames.
TEST_F(Homes, AreHandedOnFromEachPlaceBetween) {
  run("echo mine >~/file", agent_of(1, "fix.1"));
  ASSERT_TRUE(os::rename_durably("", temp_ / homes_of("run", "fix.1"), temp_ / homes_of("run", "fix.2")));
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "");
  EXPECT_EQ(run("cat ~/file", agent_of(2, "fix.2")), "mine\n");
  EXPECT_EQ(homes(), std::vector<std::string>{"run.fix.2"});
}

// A folder that may not be written to gets no other parent.
TEST_F(Homes, AreHandedOnWithoutWriteAccess) {
  run("echo mine >~/file; chmod 500 ~", agent_of(1, "fix.1"));
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "");
  EXPECT_EQ(run("cat ~/file", agent_of(2, "fix.2")), "mine\n");
}

// HOME may have a value that nobody could find there any more.
TEST_F(Homes, AreNotHandedOnWithOtherCredentials) {
  const auto with = [](const char* value) { return secrets::Redactor::Values{{"KEY", value}}; };
  const auto left_by = [&](std::int64_t attempt, const secrets::Redactor::Values& credentials) {
    const auto id = "fix." + std::to_string(attempt);
    run("true", agent_of(attempt, id), credentials);
    return id;
  };
  EXPECT_EQ(hand_on(left_by(1, with("first-value")), "fix.2", with("first-value")), "");
  EXPECT_EQ(hand_on(left_by(2, with("first-value")), "fix.3", with("other-value")), "credentials");
  EXPECT_EQ(hand_on("fix.2", "fix.3", {}), "credentials");
  left_by(2, with("other-value"));
  EXPECT_EQ(hand_on("fix.2", "fix.3", with("other-value")), "credentials") << "it had the first one, too";
  EXPECT_EQ(hand_on(left_by(5, {}), "fix.6", with("first-value")), "");
}

// HOME is not synced. The attempt may end after a restart that came after its agent.
TEST_F(Homes, AreNotHandedOnAfterARestartOfTheMachine) {
  run("echo mine >~/file", agent_of(1, "fix.1"));
  const std::string boot = os::join(temp_ / homes_of("run", "fix.1"), "boot");
  ASSERT_TRUE(os::write_atomically(boot, "11111111-2222-3333-4444-555555555555"));
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "restart");
  ASSERT_TRUE(os::remove_tree(boot));
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "restart") << "a power cut may have lost the file";
  run("true", agent_of(1, "fix.1"));
  EXPECT_EQ(hand_on("fix.1", "fix.2"), "");
}

TEST_F(Homes, LackNothingForTheValuesThatTheyHaveSeen) {
  const auto with = [](const char* value) { return secrets::Redactor::Values{{"KEY", value}}; };
  const auto agent = agent_of(1, "fix.1.e1"), other = agent_of(1, "fix.1.e2");
  EXPECT_EQ(lacks(agent, with("first-value")), "home");
  run("touch ~/file", agent, with("first-value"));
  run("touch ~/file", other, with("other-value"));
  EXPECT_EQ(lacks(agent, with("first-value")), "");
  EXPECT_EQ(lacks(agent, with("other-value")), "credentials");
  EXPECT_EQ(lacks(agent, {}), "credentials");
  EXPECT_EQ(lacks(other, with("other-value")), "") << "each episode has its own";
  EXPECT_EQ(lacks(other, with("first-value")), "credentials");
  fresh_ = true;
  EXPECT_EQ(run("ls -A ~; touch ~/new", agent, with("other-value")), "");
  EXPECT_EQ(lacks(agent, with("other-value")), "") << "the first value is in no file any more";
  EXPECT_EQ(lacks(agent, with("first-value")), "credentials");
  fresh_ = false;
  EXPECT_EQ(run("ls -A ~", agent, with("other-value")), "new\n");
}

// An older version had one file for all episodes of an attempt.
TEST_F(Homes, LackWhatTheFileOfAllEpisodesHasOfAnOtherValue) {
  const auto with = [](const char* value) { return secrets::Redactor::Values{{"KEY", value}}; };
  const auto agent = agent_of(1, "fix.1.e2");
  run("touch ~/file", agent, with("first-value"));
  const std::string folder = temp_ / homes_of("run", "fix.1");
  ASSERT_TRUE(os::rename_durably("", os::join(folder, "credentials.e2"), os::join(folder, "credentials")));
  EXPECT_EQ(lacks(agent, with("first-value")), "");
  EXPECT_EQ(lacks(agent, with("other-value")), "credentials");
  run("true", agent, with("third-value"));
  EXPECT_EQ(lacks(agent, with("third-value")), "credentials") << "HOME may still have the first one";
}

TEST_F(Homes, OnlyTheirOwnerCanEnterTheFolderOfAll) {
  run("true", agent_of(1, "fix.1"));
  for (const auto& folder : {std::string(kHomes), homes_of("run", "fix.1")})
    EXPECT_EQ(os::facts_of(temp_ / folder)->mode, 0700U) << folder;
}

// Such a job has the seal of its step, so only a defect could make it.
TEST_F(Homes, AreNotMadeElsewhere) {
  auto agent = agent_of(1, "fix.1");
  agent.key.run_id = "../outside";
  const auto waited = runner_->wait(start("true", agent, {}), [] { return false; });
  EXPECT_FALSE(waited);
  EXPECT_EQ(homes(), std::vector<std::string>());
}

}  // namespace
}  // namespace pawl::supervisor
