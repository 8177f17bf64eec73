// The work of a lost agent that its next execution goes on with, under real supervisors.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/server.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/supervisor.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {
namespace {

constexpr int kKillPatienceOfTestMs = 60'000;
using Paths = std::vector<std::string>;

class KeptWorkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Paths files = {"file", "folder/old", "folder/same", "gone"};
    for (const auto& file : files) {
      ASSERT_TRUE(os::make_folders(os::folder_of(source_ / file)));
      ASSERT_TRUE(os::write_atomically(source_ / file, "of base\n"));
    }
    base_ = workspaces_.keep_files(source_.path(), files).value();
  }

  sandbox::SandboxSpec spec(const std::string& script, const std::string& own) const {
    sandbox::SandboxSpec out{.copy_in = {{.src = "", .dst = "/pawl"}}, .cmd = {"sh", "-c", script}};
    out.workspace.base_id = base_;
    if (!own.empty()) out.workspace.layers = {own};
    out.workspace.own_layer = own;
    return out;
  }
  std::string new_id() { return os::uuid7(os::SystemClock().wall(), random_); }
  std::string start(const std::string& script, const std::string& own,
                    const secrets::Redactor::Values& credentials = {}) {
    auto id = new_id();
    start_as(id, script, own, credentials);
    return id;
  }
  void start_as(const std::string& id, const std::string& script, const std::string& own,
                const secrets::Redactor::Values& credentials = {}) {
    const AgentStep agent{.context = {.key = {.run_id = "run", .goal_id = "fix", .episode_id = "fix.1"},
                                      .phase_id = "fix",
                                      .goal = "g",
                                      .model = "m"},
                          .credentials = credentials};
    EXPECT_TRUE(runner_->start(id, sandbox::default_backend(), spec(script, own), {}, agent));
  }
  std::string file_of(const std::string& id, const char* name) const {
    return os::read_file(os::join(spool_folder(temp_.path(), id), name), 4096).value_or("");
  }
  // A step that is killed with its supervisor when the script has ended.
  std::string kill_after(const std::string& script, const std::string& own,
                         const secrets::Redactor::Values& credentials = {}) {
    const auto id = start(script + "; echo begun; exec sleep 300", own, credentials);
    for (int i = 0; i < kKillPatienceOfTestMs && !file_of(id, "output").ends_with("begun\n"); ++i)
      os::SystemClock().sleep_ms(1);
    EXPECT_TRUE(file_of(id, "output").ends_with("begun\n")) << file_of(id, "output");
    EXPECT_TRUE(
        os::kill_process(os::parse_identity(file_of(id, "supervisor")).value(), kKillPatienceOfTestMs));
    EXPECT_TRUE(runner_->abandon(id));
    return id;
  }
  KeptWork kept(const std::string& id, const secrets::Redactor::Values& credentials = {}) {
    auto out = runner_->keep_work(id, credentials);
    EXPECT_TRUE(out) << out.error().message;
    return out.value_or(KeptWork());
  }
  sandbox::SandboxRun run(const std::string& script, const std::string& own) {
    const auto id = start(script, own);
    EXPECT_TRUE(runner_->wait(id, [] { return false; }));
    return runner_->collect(id, sandbox::spec_hash(spec(script, own))).value();
  }
  Paths changes_in(const std::string& layer) const {
    Paths out;
    const auto manifest = workspaces_.manifest(layer);
    for (const auto& entry : manifest.value_or(std::vector<workspace::Entry>()))
      out.push_back((entry.type == workspace::EntryType::kDeleted ? "-" : "") + entry.path);
    return out;
  }

  testing::TempFolder temp_, source_;
  os::SystemRandom random_;
  workspace::Workspaces workspaces_ = workspace::Workspaces::open(temp_.path()).value();
  std::string base_;
  std::unique_ptr<StepRunner> runner_ = make_step_runner(testing::runner_options(temp_.path()));
};

// Replaces a folder, which overlayfs marks as opaque, and keeps one of its files as it was.
constexpr const char* kFirst =
    "echo 1 >>file; rm gone; rm -r folder; mkdir folder; echo of base >folder/same; echo new >folder/new; "
    "mkdir closed; echo in >closed/in; chmod 0 closed; ln file twin; touch ~/session";

TEST_F(KeptWorkTest, TheLayerOfEachExecutionHasWhatThoseBeforeChanged) {
  const auto first = kill_after(kFirst, "");
  const auto layer = kept(first).layer.value_or("");
  ASSERT_NE(layer, "");
  EXPECT_EQ(kept(first).layer, layer) << "a crash may come before a row names it";
  EXPECT_EQ(kept(first).layer, layer);

  const auto second = kill_after(
      "cat file folder/*; ls; echo 2 >>file; rm folder/new; mkdir more; echo 2 >more/a; echo of base >gone",
      layer);
  EXPECT_EQ(file_of(second, "output"), "of base\n1\nnew\nof base\nclosed\nfile\nfolder\ntwin\nbegun\n");
  const auto both = kept(second).layer.value_or("");

  const auto last = run("cat file; echo 3 >more/b; rm twin", both);
  ASSERT_TRUE(sandbox::succeeded(last)) << last.reason;
  const auto at_once =
      run("printf '1\\n2\\n' >>file; rm folder/old; mkdir closed more; echo in >closed/in; chmod 700 closed; "
          "echo 2 >more/a; echo 3 >more/b",
          "");
  EXPECT_EQ(changes_in(last.layer), changes_in(at_once.layer));
  EXPECT_EQ(last.layer, at_once.layer);
}

TEST_F(KeptWorkTest, AnExecutionThatChangesNothingMoreKeepsIt) {
  const auto layer = *kept(kill_after("echo 1 >>file", "")).layer;
  EXPECT_EQ(kept(kill_after("true", layer)).layer, layer);
  EXPECT_EQ(run("true", layer).layer, layer);
  EXPECT_EQ(run("echo of base >file", layer).layer, "") << "it is as base has it";
}

// Work and HOME of the executions before are as they were.
TEST_F(KeptWorkTest, AnExecutionThatEndsBeforeItsSandboxStartsDidNotBegin) {
  const auto layer = kept(kill_after("echo 1 >>file; touch ~/session", "")).layer.value_or("");
  const auto id = new_id();
  ASSERT_TRUE(
      os::make_folders(os::join(spool_folder(temp_.path(), id), "output")));  // where a file should be
  start_as(id, "echo 2 >>file", layer);
  EXPECT_FALSE(runner_->wait(id, [] { return false; }));
  EXPECT_TRUE(runner_->abandon(id));
  EXPECT_FALSE(kept(id).began);
}

TEST_F(KeptWorkTest, SaysWhatIsMissing) {
  const auto nothing = kept(new_id());
  EXPECT_FALSE(nothing.began);

  EXPECT_EQ(kept(kill_after("true", "")).missing, "workspace") << "it wrote nothing, there and in HOME";
  EXPECT_EQ(kept(kill_after("touch ~/session", "")).layer, "");

  const auto id = kill_after("touch file", "");
  const auto home = temp_ / homes_of("run", "fix.1");
  ASSERT_TRUE(os::remove_tree(home));
  EXPECT_EQ(kept(id).missing, "home");

  const secrets::Redactor::Values before = {{"API_KEY", "sk-value-0123456789"}},
                                  since = {{"API_KEY", "sk-value-9876543210"}};
  const auto paid = kill_after("echo 1 >>file; echo $API_KEY >stolen", "", before);
  EXPECT_EQ(kept(paid, since).missing, "credentials");
  EXPECT_EQ(changes_in(kept(paid, before).layer.value_or("")), Paths{"file"});

  const auto restarted = kill_after("echo 1 >>file", "");
  auto identity = os::parse_identity(file_of(restarted, "supervisor")).value();
  identity.boot_id = "11111111-2222-3333-4444-555555555555";
  ASSERT_TRUE(os::write_atomically(os::join(spool_folder(temp_.path(), restarted), "supervisor"),
                                   os::to_text(identity)));
  EXPECT_EQ(kept(restarted).missing, "restart");

  const auto recorded = kill_after("echo 1 >>file", "");
  runner_->forget_lost(recorded);
  EXPECT_FALSE(kept(recorded).layer);
}

}  // namespace
}  // namespace pawl::supervisor
