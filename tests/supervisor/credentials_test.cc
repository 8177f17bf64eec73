// Credentials of an agent, under real supervisors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>

#include "base/json.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "supervisor/handed_over.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"
#include "support/supervisor_program.h"
#include "support/temp_folder.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

const secrets::Redactor::Values kValues = {{"API_KEY", "sk-value-0123456789"},
                                           {"TEXT", "first line\nsecond line"}};
const std::string& kValue = kValues[0].second;

class Credentials : public ::testing::Test {
 protected:
  static sandbox::SandboxSpec spec(const std::string& script) {
    return {.copy_in = {{.src = "", .dst = "/pawl"}}, .cmd = {"sh", "-c", script}};
  }
  std::string start(const std::string& script) {
    const auto id = os::uuid7(os::SystemClock().wall(), random_);
    const AgentStep agent{.context = {.key = {.run_id = "run", .goal_id = "fix", .episode_id = "fix.1"},
                                      .phase_id = "fix",
                                      .goal = "g",
                                      .model = "m"},
                          .credentials = kValues};
    EXPECT_TRUE(runner_->start(id, sandbox::default_backend(), spec(script), {}, agent));
    return id;
  }
  std::string output_of(const std::string& id) const {
    return os::read_file(step_path(temp_.path(), id, StepFile::kOutput), 65536).value_or("");
  }
  void wait_for(const std::string& id, const std::string& words) const {
    for (int i = 0; i < 60'000 && output_of(id).find(words) == std::string::npos; ++i)
      os::SystemClock().sleep_ms(1);
    ASSERT_THAT(output_of(id), HasSubstr(words));
  }
  // The run of the script, and its output.
  std::pair<sandbox::SandboxRun, std::string> run(const std::string& script) {
    return ended(start(script), script);
  }
  // Waits for the end of the step that runs the script.
  std::pair<sandbox::SandboxRun, std::string> ended(const std::string& id, const std::string& script) {
    const auto waited = runner_->wait(id, [] { return false; });
    EXPECT_TRUE(waited) << waited.error().message;
    auto run = runner_->collect(id, sandbox::spec_hash(spec(script)));
    EXPECT_TRUE(run) << run.error().message;
    if (!run || run->logs.empty()) return {run.value_or(sandbox::SandboxRun()), ""};
    const auto output = workspace::Workspaces::open(temp_.path())->get_blob(run->logs, 65536);
    EXPECT_TRUE(output);
    return {*run, output.value_or("")};
  }
  // A step whose supervisor was killed when the script had printed "begun". REQUIRES: the script waits then.
  std::string begin_and_kill(const std::string& script) {
    const auto id = start(script + "; echo begun; exec sleep 300");
    wait_for(id, "begun");
    const auto identity =
        os::parse_identity(os::read_file(spool_folder(temp_.path(), id) + "/supervisor", 4096).value_or(""));
    EXPECT_TRUE(identity && os::kill_process(*identity, 60'000));
    EXPECT_TRUE(runner_->abandon(id));
    return id;
  }
  // The files below .pawl that have one of the values as it is.
  std::string found() const {
    std::string out;
    for (const auto& [name, value] : kValues)
      out += os::output_of({"grep", "-rlaF", value, temp_.path()}, 60'000, 65536).value().text;
    return out;
  }

  testing::TempFolder temp_;
  os::SystemRandom random_;
  std::unique_ptr<StepRunner> runner_ = make_step_runner(testing::runner_options(temp_.path()));
};

TEST_F(Credentials, ComeOutOfThePipeAsTheyWere) {
  const std::string key(kHashKeySize, '\0');
  for (const auto& credentials :
       {secrets::Redactor::Values(), kValues, secrets::Redactor::Values{{"A", "a=b"}}}) {
    const auto bytes = to_bytes({.key = key, .credentials = credentials});
    ASSERT_TRUE(bytes);
    const auto back = handed_over_in(*bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->key, key);
    EXPECT_EQ(back->credentials, credentials);
  }
}

TEST_F(Credentials, APartOfThePipeIsNotTaken) {
  const std::string bytes = to_bytes({.key = std::string(kHashKeySize, 'k'), .credentials = kValues}).value();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(handed_over_in(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(handed_over_in(bytes + "x"));
  EXPECT_FALSE(handed_over_in(std::string(kHashKeySize, 'k') + std::string("A\0\0", 3))) << "no value";
}

TEST_F(Credentials, ThePipeHasRoomForWhatAnAgentMayHave) {
  const std::string key(kHashKeySize, 'k');
  EXPECT_TRUE(to_bytes({.key = key, .credentials = {{"A", std::string(40 << 10, 'x')}}}));
  EXPECT_EQ(to_bytes({.key = key, .credentials = {{"A", std::string(os::kInputBytesMax, 'x')}}}).error().kind,
            ErrorKind::kExhausted);
}

TEST_F(Credentials, ReachTheCommandAndNoFile) {
  const auto id = start(
      "test ${#API_KEY} = 19 && test \"${TEXT#*line?}\" = 'second'' line' && echo \"have $API_KEY\"; "
      "echo begun; exec sleep 300");
  wait_for(id, "begun");
  EXPECT_EQ(found(), "");
  const auto pids = os::output_of({"pgrep", "-f", id}, 60'000, 65536).value().text;
  for (std::size_t at = 0; at < pids.size(); at = pids.find('\n', at) + 1) {
    const std::string proc = "/proc/" + pids.substr(at, pids.find('\n', at) - at);
    for (const char* file : {"/environ", "/cmdline"})
      EXPECT_THAT(os::read_file(proc + file, 1 << 20).value_or(""), Not(HasSubstr(kValue))) << proc;
  }
  EXPECT_THAT(output_of(id), MatchesRegex("have <redacted:env:API_KEY:[0-9a-f]{8}>\nbegun\n"));
  EXPECT_TRUE(runner_->abandon(id));
}

TEST_F(Credentials, AreRedactedInTheOutput) {
  const auto [run, output] = this->run(
      "echo $API_KEY; echo $API_KEY | base64; echo $API_KEY >&2; printf '%s\n' \"$TEXT\"; sh -c 'exit 3'; "
      "echo $?");
  EXPECT_THAT(output, Not(HasSubstr("0123456789")));
  EXPECT_THAT(output, Not(HasSubstr("second line")));
  EXPECT_THAT(output, HasSubstr("3\n"));
}

TEST_F(Credentials, AreInNoLayer) {
  const auto [run, output] = this->run(
      "echo a >clean; echo \"key: $API_KEY\" >config; touch \"of $API_KEY\"; ln -s \"$API_KEY\" link");
  EXPECT_THAT(run.withheld,
              ElementsAre("config", "link", MatchesRegex("of <redacted:env:API_KEY:[0-9a-f]{8}>")));
  EXPECT_EQ(run.refused, run.withheld);
  const auto workspaces = workspace::Workspaces::open(temp_.path());
  ASSERT_TRUE(workspaces);
  const auto entries = workspaces->manifest(run.layer);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().path, "clean");
  EXPECT_EQ(found(), "");
  const auto json = parse_json(json_text(run));
  ASSERT_TRUE(json);
  EXPECT_EQ(sandbox::run_from_json(*json)->withheld, run.withheld);
}

TEST_F(Credentials, AQuestionIsStoredWithoutThem) {
  const auto [run, output] = this->run(
      "curl -sS --unix-socket /pawl/agent.sock -X PUT -d "
      "'{\"question\": \"is '$API_KEY' good?\", \"choices\": [\"yes\", \"'$API_KEY'\"]}' "
      "'http://pawl/v1/question?key=one'");
  EXPECT_THAT(output, HasSubstr("is <redacted:env:API_KEY:"));
  EXPECT_EQ(found(), "") << "nor does the journal have it";
}

TEST_F(Credentials, LostWorkIsTakenWithTheSameValuesOnly) {
  const std::vector<std::string> probe = {"sh", "-c", "test -z \"$API_KEY\" && test -e clean"};
  const std::string script = "echo a >clean; echo $API_KEY >config";
  const auto id = begin_and_kill(script);
  using Values = secrets::Redactor::Values;
  for (const auto& others : {Values(), Values{kValues[0]}, Values{kValues[0], {"TEXT", "another value"}}}) {
    const auto salvaged = runner_->salvage(id, probe, others);
    ASSERT_TRUE(salvaged) << salvaged.error().message;
    EXPECT_TRUE(salvaged->began);
    EXPECT_EQ(salvaged->exit_code, std::nullopt) << "a person decides";
  }
  const auto salvaged = runner_->salvage(id, probe, kValues);
  ASSERT_TRUE(salvaged) << salvaged.error().message;
  EXPECT_EQ(salvaged->exit_code, 0) << "the probe has no credential";
  EXPECT_THAT(salvaged->run.withheld, ElementsAre("config"));
  const auto entries = workspace::Workspaces::open(temp_.path())->manifest(salvaged->run.layer);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1U);
  runner_->forget(id);
  EXPECT_EQ(found(), "");
}

TEST_F(Credentials, TheNextExecutionMayHaveOthers) {
  begin_and_kill("test ${#API_KEY} = 19");
  EXPECT_EQ(found(), "");
  const auto id = os::uuid7(os::SystemClock().wall(), random_);
  EXPECT_TRUE(runner_->start(id, sandbox::default_backend(), spec("echo [$API_KEY]"), {}, {}));
  EXPECT_EQ(ended(id, "echo [$API_KEY]").second, "[]\n") << "a gate's step";
}

}  // namespace
}  // namespace pawl::supervisor
