// A writer of the state folder can replace what a supervisor left there. Only what it sealed is a result.
#include "base/seal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "sandbox/spec.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"

namespace pawl::supervisor {
namespace {

const std::string kRootKey(kHashKeySize, 'k'), kOtherKey(kHashKeySize, 'x');

class SealedSteps : public ::testing::Test {
 protected:
  static std::unique_ptr<StepRunner> runner(const testing::TempFolder& folder, const std::string& key) {
    return make_step_runner(
        {.folder = folder.path(), .executable = testing::supervisor_program(), .key = key});
  }
  Spool spool_of(const std::string& id, const std::string& key = kRootKey) const {
    return {spool_folder(temp_.path(), id), Seal(key, id).key_of_part()};
  }
  std::string new_id() { return os::uuid7(os::SystemClock().wall(), random_); }
  static sandbox::SandboxSpec spec(const std::string& script) {
    return {.env = {"SAID=no"}, .cmd = {"sh", "-c", script}};
  }
  // Runs a step to its end. Returns its id.
  std::string run(const std::string& script) {
    const std::string id = new_id();
    EXPECT_TRUE(client_->start(id, sandbox::default_backend(), spec(script), {}, {}));
    EXPECT_TRUE(client_->wait(id, [] { return false; }));
    return id;
  }
  std::string result_of(const std::string& id) const { return read(spool_of(id).path(kResultFile)); }
  static std::string read(const std::string& path) {
    return os::read_file(path, kSpoolFileBytesMax).value_or("");
  }
  // "taken: CODE", or the kind of the error.
  std::string collected(const std::string& id, const std::string& script) const {
    const auto run = client_->collect(id, sandbox::spec_hash(spec(script)));
    return run ? "taken: " + std::to_string(run->exit_code) : std::string(name(run.error().kind));
  }
  template <typename Look>
  static std::string without_defence(const Look& look) {
    setenv("PAWL_WALLS_OFF", "spool", 1);
    auto out = look();
    unsetenv("PAWL_WALLS_OFF");
    return out;
  }
  static std::string with(std::string text, std::string_view old, std::string_view replacement) {
    const auto at = text.find(old);
    EXPECT_NE(at, text.npos) << old << " in " << text;
    return at == text.npos ? text : text.replace(at, old.size(), replacement);
  }
  static std::string seal_in(const std::string& text) {
    return text.substr(text.size() - 2 - kHashHexSize, kHashHexSize);
  }
  // The step begins, and its supervisor is killed in the middle of it.
  std::string begin_and_kill(const std::string& script) {
    const std::string id = new_id();
    const Spool spool = spool_of(id);
    EXPECT_TRUE(client_->start(id, sandbox::default_backend(), spec("echo begun; " + script), {}, {}));
    const auto has_begun = [&] { return read(spool.path("output")).find("begun") != std::string::npos; };
    for (int i = 0; i < 30'000 && !has_begun(); ++i) os::SystemClock().sleep_ms(1);
    EXPECT_TRUE(has_begun());
    const auto identity = spool.identity();
    EXPECT_TRUE(identity);
    if (identity) kill(static_cast<pid_t>(identity->pid), SIGKILL);
    static_cast<void>(client_->wait(id, [] { return false; }));
    EXPECT_TRUE(client_->abandon(id));
    return id;
  }

  testing::TempFolder temp_;
  os::SystemRandom random_;
  std::unique_ptr<StepRunner> client_ = runner(temp_, kRootKey);
};

TEST_F(SealedSteps, OnlyTheResultThatTheSupervisorWroteIsTaken) {
  const std::string fails = "exit 1", passes = "exit 0";
  const std::string id = run(fails), other = run(passes);
  const std::string honest = result_of(id), passed = result_of(other);
  ASSERT_EQ(collected(id, fails), "taken: 1");
  const std::string wanted = with(honest, "\"exit_code\":1", "\"exit_code\":0");
  const auto body = wanted.substr(0, wanted.find(",\"seal\":"));
  const Spool by_another_key = spool_of(id, kOtherKey);
  const auto sealed_by = [&](const Seal& seal) { return seal.sealed(body + "}"); };
  const std::map<std::string, std::string> forgeries = {
      {"the seal of the honest result", wanted},
      {"no seal, as older versions write it", body + "}"},
      {"a seal without a key", body + ",\"seal\":\"" + blake3_hex(body) + "\"}"},
      {"a seal by another folder's key", sealed_by(Seal(by_another_key.key(), "result"))},
      {"a seal by the folder's key for all steps", sealed_by(Seal(kRootKey, "result"))},
      {"a seal by another step's key", sealed_by(Seal(spool_of(other).key(), "result"))},
      {"the seal of a job", sealed_by(Seal(spool_of(id).key(), "job"))},
      {"the result of another step",
       with(passed, sandbox::spec_hash(spec(passes)), sandbox::spec_hash(spec(fails)))},
      {"a seal of zeros", body + ",\"seal\":\"" + std::string(kHashHexSize, '0') + "\"}"},
  };
  for (const auto& [what, text] : forgeries) {
    ASSERT_TRUE(os::write_atomically(spool_of(id).path(kResultFile), text));
    EXPECT_EQ(collected(id, fails), "forged") << what;
    EXPECT_EQ(without_defence([&] { return collected(id, fails); }), "taken: 0") << what << "\n" << text;
  }
  const std::vector<std::string> others = {"",
                                           "{}",
                                           honest.substr(1),
                                           honest + "\n",
                                           "[" + honest + "]",
                                           honest.substr(0, honest.size() - 1) + ",\"x\":1}",
                                           with(honest, seal_in(honest), std::string(kHashHexSize, 'G'))};
  for (const auto& text : others) {
    ASSERT_TRUE(os::write_atomically(spool_of(id).path(kResultFile), text));
    EXPECT_EQ(collected(id, fails), "forged") << text;
  }
  ASSERT_TRUE(os::write_atomically(spool_of(id).path(kResultFile), honest));
  EXPECT_EQ(collected(id, fails), "taken: 1");
  // An executor that starts after a crash derives the same key; one with another key takes nothing.
  EXPECT_TRUE(runner(temp_, kRootKey)->collect(id, sandbox::spec_hash(spec(fails))));
  EXPECT_FALSE(runner(temp_, kOtherKey)->collect(id, sandbox::spec_hash(spec(fails))));
}

TEST_F(SealedSteps, AResultFromBeforeTheStepIsNone) {
  const std::string script = "exit 0";
  const std::string text = result_of(run(script)), id = new_id();
  ASSERT_TRUE(os::make_folders(spool_of(id).folder(), 0700));
  ASSERT_TRUE(os::write_atomically(spool_of(id).path(kResultFile), text));
  ASSERT_TRUE(client_->start(id, sandbox::default_backend(), spec(script), {}, {}));
  ASSERT_TRUE(client_->wait(id, [] { return false; }));
  EXPECT_EQ(collected(id, script), "forged");
  EXPECT_EQ(without_defence([&] { return collected(id, script); }), "taken: 0");
}

TEST_F(SealedSteps, AChangedJobIsNotBegun) {
  const std::string id = new_id();
  const Spool spool = spool_of(id);
  ASSERT_TRUE(os::make_folders(spool.folder(), 0700));
  {
    auto lock = os::FileLock::lock(spool.path("lock"));  // the supervisor waits for it
    ASSERT_TRUE(lock);
    ASSERT_TRUE(client_->start(id, sandbox::default_backend(), spec("test $SAID = no"), {}, {}));
    const std::string job = with(read(spool.path(kJobFile)), "SAID=no", "SAID=ja");
    ASSERT_TRUE(os::write_atomically(spool.path(kJobFile), job));
  }
  const auto waited = client_->wait(id, [] { return false; });
  ASSERT_FALSE(waited);
  EXPECT_NE(waited.error().message.find("does not have the seal of its step"), std::string::npos)
      << waited.error().message;
  EXPECT_FALSE(spool.has_result());
}

TEST_F(SealedSteps, AProbeIsNotToldByAChangedJobWhatToAnswer) {
  const std::vector<std::string> probe = {"sh", "-c", "test $SAID = ja"};
  const std::string id = begin_and_kill("sleep 300");
  auto honest = client_->salvage(id, probe, {});
  ASSERT_TRUE(honest) << honest.error().message;
  EXPECT_EQ(honest->exit_code, 1);
  const std::string job = with(read(spool_of(id).path(kJobFile)), "SAID=no", "SAID=ja");
  ASSERT_TRUE(os::write_atomically(spool_of(id).path(kJobFile), job));
  const auto told = client_->salvage(id, probe, {});
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->began);
  EXPECT_EQ(told->exit_code, std::nullopt);
  EXPECT_EQ(without_defence(
                [&] { return std::to_string(client_->salvage(id, probe, {})->exit_code.value_or(-1)); }),
            "0");
}

// No file of the state folder, argument or variable has the key.
TEST_F(SealedSteps, TheKeyComesThroughAPipeOnly) {
  const std::string id = new_id();
  const Spool spool = spool_of(id);
  const std::string script = "echo begun; sleep 0.2; test $(wc -c) = 0";
  ASSERT_TRUE(client_->start(id, sandbox::default_backend(), spec(script), {}, {}));
  const auto has_begun = [&] { return read(spool.path("output")).find("begun") != std::string::npos; };
  for (int i = 0; i < 30'000 && !has_begun(); ++i) os::SystemClock().sleep_ms(1);
  const std::string raw = spool.key(), hex = to_hex(raw);
  std::vector<std::string> left = {spool.folder()};
  while (!left.empty()) {
    const std::string folder = left.back();
    left.pop_back();
    for (auto& below : os::folders_in(folder)) left.push_back(std::move(below));
    for (const auto& name : os::list_folder(folder).value_or(std::vector<std::string>())) {
      const std::string path = os::join(folder, name), text = os::is_regular_file(path) ? read(path) : "";
      EXPECT_TRUE(text.find(raw) == text.npos && text.find(hex) == text.npos) << path;
    }
  }
  const auto waited = client_->wait(id, [] { return false; });
  ASSERT_TRUE(waited) << waited.error().message << read(spool.path("supervisor.log"));
  EXPECT_EQ(collected(id, script), "taken: 0") << "the step has nothing to read";
}

}  // namespace
}  // namespace pawl::supervisor
