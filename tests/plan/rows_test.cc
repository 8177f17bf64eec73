// A plan that is read back from its rows equals the plan that was written.
#include "plan/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/json.h"
#include "os/file.h"
#include "plan/parse.h"
#include "support/places.h"

namespace pawl::plan {
namespace {

void expect_same_through_rows(const Plan& plan, const std::string& of) {
  const std::string row = common_row(plan);
  EXPECT_EQ(row, canonical(*parse_json(row))) << of;
  const auto common = common_of_row(row);
  ASSERT_TRUE(common) << of << ": " << common.error().message;
  EXPECT_EQ(*common, static_cast<const Common&>(plan)) << of;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      const auto read = phase_of_row(phase_row(phase));
      ASSERT_TRUE(read) << of << ": " << read.error().message;
      EXPECT_EQ(*read, phase) << of;
    }
}

// Every key of docs/plan-format.md, with a value that is not its default.
constexpr const char* kEverything = R"(version: 1
workflow: everything
source: {path: ./src, ref: v1}
env: {names: [CI, LANGUAGE], set: {NODE_ENV: test, EMPTY: "", NUMBER: "1"}}
mounts: [{src: ~/.nvm}, {src: /opt/go/, dst: /go}]
sandbox: {backend: namespace, base_image: host, memory_limit_mib: 100, pids_limit: 101, cpu_limit_millis: 102,
  disk_limit_mib: 103, output_limit_bytes: 10400, time_budget_seconds: 105, refused_entries: fail}
max_attempts: 7
models: [small, "lärge \"quoted\"", "tab\tnew\nline\x01"]
resume: {probe: look}
on_retry: fresh
durable: best_effort
protect: ["test/**", {pattern: ".ci", may_be_absent: true}]
protect_existing: [spec]
allow_shadowing: ["bin/**"]
files: ["*.sh"]
gate_files: [check.sh]
policy: {file: rules.yaml, blake3: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}
budget: {usd: "5.000000001", tokens: 9, sandbox_seconds: 8}
doctor: {run: ask, after_failures: 3, network: scoped, egress: ["a.example:443"], pids_limit: 9}
replan: {run: [think, hard], max_replans: 4, trace: true}
backoff: {initial_seconds: 5, max_seconds: 50}
gates:
  one:
    steps:
      - {name: a, run: x, network: scoped, egress: ["b.example:80"], trace: true, reports: {tap: ["t/*.tap"], junit: ["r/*.xml", "s.xml"]}}
      - {name: b, run: [y, "z z"], memory_limit_mib: 17}
    signals: [build, tests, trace]
    retry: {non_retryable: [trace], timeout_retryable: false, oom_retryable: true, same_failure_max: 7, flaky_reruns: 2, flaky: pass}
    attempt_overrides: {2: {a: {run: slow, time_budget_seconds: 9}}, 10: {b: {pids_limit: 11}}}
  two: {steps: [{name: c, run: z}], protect: [x], protect_existing: ["y/*"], take: {only: ["src/**"]}}
tiers:
  - {name: first, on_failure: continue, parallel: true, phases: [
      {id: p, goal: "Ünïcode 🙂", agent: {run: work, trace: true, budget: {usd: "0.5", tokens: 3}, max_children: 0, usage: claude_code,
       credentials: {API_KEY: {env: MY_KEY}, B: {file: ~/login.json, json: /a~1b/0}, C: {command: [get, 1]}}},
       gates: [two, one], best_of: 8, max_attempts: 2, resume: skip},
      {id: q, goal: g, agent: {use: gemini, model: m, args: [-x], base_url: "http://127.0.0.1:1"}, gates: [one], resume: escalate}]}
  - phases: [{id: r, goal: g, agent: {run: work}, gates: [one], resume: re_execute, on_retry: continue}]
)";

TEST(Rows, KeepEveryFeature) {
  std::string text = kEverything;
  auto parsed = parse(text, "plan.yaml");
  ASSERT_TRUE(parsed.plan) << to_text(parsed.problems.at(0));
  expect_same_through_rows(*parsed.plan, "everything");
  EXPECT_EQ(parsed.plan->traced, "phase p, agent");
  EXPECT_TRUE(parsed.plan->has_credentials);
  EXPECT_EQ(parsed.plan->tiers[0].phases[0].credentials,
            (std::vector<Credential>{{.name = "API_KEY", .env = "MY_KEY", .at = {35, 31}},
                                     {.name = "B", .file = "~/login.json", .json = "/a~1b/0", .at = {35, 49}},
                                     {.name = "C", .command = {"get", "1"}, .at = {35, 89}}}));
  EXPECT_EQ(parsed.plan->mounts, (std::vector<Mount>{{.src = "~/.nvm", .dst = "", .at = {5, 10}},
                                                     {.src = "/opt/go", .dst = "/go", .at = {5, 25}}}));
}

TEST(Rows, KeepEveryExample) {
  int plans = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(testing::kSourceFolder) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = os::read_file(entry.path(), kPlanBytesMax);
    ASSERT_TRUE(text);
    const auto parsed = parse(*text, entry.path());
    if (!parsed.plan) continue;  // a policy
    ++plans;
    expect_same_through_rows(*parsed.plan, entry.path());
  }
  EXPECT_GE(plans, 3);
}

// Random values for every member, including values that no plan text gives. A value that a row loses shows up
// as a difference.
class AnyPlan {
 public:
  explicit AnyPlan(unsigned seed) : random_(seed) {}
  Plan plan() {
    Plan out;
    out.workflow = text();
    out.source_path = text();
    out.source_folder = text();
    if (flip()) out.source_ref = text();
    out.source_exclude = texts();
    out.env = texts();
    for (auto i = random_() % 3; i > 0; --i) out.env_set[text()] = text();
    for (auto i = random_() % 3; i > 0; --i)
      out.mounts.push_back({.src = text(), .dst = text(), .at = {.line = number(), .column = number()}});
    out.git = std::array{Git::kNone, Git::kSnapshot, Git::kHistory}[random_() % 3];
    for (auto i = random_() % 3; i > 0; --i) out.profiles[text()] = text();
    out.models = texts();
    out.guarded = guarded();
    out.allow_shadowing = texts();
    out.files = texts();
    out.gate_files = texts();
    out.plan_for_agents = text();
    if (flip()) out.policy = {.file = text(), .blake3 = text(), .at = {.line = number(), .column = number()}};
    if (flip()) out.doctor = {.step = step(), .after_failures = number()};
    if (flip()) out.replan = {.step = step(), .max_replans = number()};
    out.backoff = {.initial_seconds = number(), .max_seconds = number()};
    if (flip()) out.budget.sandbox_seconds = number();
    out.budget.of_agents = spending();
    for (int i = 0; i < 3; ++i) out.gates[text()] = gate();
    out.has_credentials = flip();
    out.traced = text();
    out.tiers.resize(1);
    out.tiers[0].phases = {phase(), phase()};
    return out;
  }

 private:
  bool flip() { return random_() % 2 == 0; }
  std::int64_t number() {
    return static_cast<std::int64_t>((std::uint64_t{random_()} << 32 | random_()) >> random_() % 64);
  }
  std::string text() {
    static const std::vector<std::string> parts = {"",   "a", "\"", "\\", "\n", "\x01", "\x7f", "é",
                                                   "🙂", ":", "#",  "{",  "'",  "true", "1",    " "};
    std::string out;
    for (auto i = random_() % 6; i > 0; --i) out += parts[random_() % parts.size()];
    return out;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out(random_() % 3);
    for (auto& one : out) one = text();
    return out;
  }
  Spending spending() {
    Spending out;
    if (flip()) out.tokens = number();
    if (flip()) out.usd_nanos = number();
    return out;
  }
  Step step() {
    Step out{.name = text(), .argv = texts(), .egress = texts(), .trace = flip()};
    if (flip()) out.network = Network::kScoped;
    for (auto i = random_() % 3; i > 0; --i) out.reports.push_back({.format = text(), .patterns = texts()});
    out.limits = {.backend = text(),
                  .base_image = text(),
                  .memory_limit_mib = number(),
                  .pids_limit = number(),
                  .cpu_limit_millis = number(),
                  .disk_limit_mib = number(),
                  .output_limit_bytes = number(),
                  .time_budget_seconds = number(),
                  .refused_entries = flip() ? RefusedEntries::kFail : RefusedEntries::kRecord};
    return out;
  }
  Guarded guarded() {
    return {.rules = {.protect = texts(), .protect_existing = texts()}, .may_be_absent = texts()};
  }
  Gate gate() {
    Gate out{.name = text(), .steps = {step()}, .signals = texts()};
    if (flip()) out.overrides[number()] = {step(), step()};
    out.signals_at = {.line = number(), .column = number()};
    out.retry = {.non_retryable = texts(), .timeout_retryable = flip(), .oom_retryable = flip()};
    out.retry.flaky_reruns = number();
    out.retry.flaky = flip() ? Flaky::kPass : Flaky::kFail;
    out.retry.same_failure_max = flip() ? std::nullopt : std::optional(number());
    out.guarded = guarded();
    out.take_only = texts();
    return out;
  }
  Phase phase() {
    std::map<std::int64_t, std::string> codes;
    for (auto i = random_() % 3; i > 0; --i) codes[number()] = text();
    return {.id = text(),
            .goal = text(),
            .agent = step(),
            .agent_continue = texts(),
            .credentials = {{.name = text(),
                             .env = text(),
                             .file = text(),
                             .json = text(),
                             .command = texts(),
                             .at = {.line = number(), .column = number()}}},
            .agent_budget = spending(),
            .max_children = number(),
            .agent_usage = text(),
            .agent_model = text(),
            .exit_codes = codes,
            .gates = texts(),
            .best_of = number(),
            .max_attempts = number(),
            .resume = {.policy = static_cast<ResumePolicy>(random_() % 5), .probe = texts()},
            .on_retry = static_cast<OnRetry>(random_() % 2),
            .durable = flip() ? Durable::kBestEffort : Durable::kRequired,
            .may_be_empty = flip(),
            .agent_exit = flip() ? AgentExit::kAny : AgentExit::kZero,
            .guarded = guarded()};
  }
  std::mt19937 random_;
};

TEST(Rows, KeepAnyValue) {
  for (unsigned seed = 0; seed < 500; ++seed)
    expect_same_through_rows(AnyPlan(seed).plan(), fmt::format("seed {}", seed));
}

TEST(Rows, SayWhenTheyAreDamaged) {
  const std::string row = phase_row(AnyPlan(1).plan().tiers[0].phases[0]);
  EXPECT_EQ(phase_of_row(row.substr(0, row.size() / 2)).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(phase_of_row("").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(phase_of_row("[]").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(phase_of_row(R"({"goal":1})").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(phase_of_row(R"({"durable":"perhaps"})").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(common_of_row(R"({"gates":{"g":{"overrides":{"x":[]}}}})").error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(phase_of_row(R"({"id":"p","of_a_later_version":[1]})")->id, "p");
}

}  // namespace
}  // namespace pawl::plan
