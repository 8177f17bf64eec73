// docs/plan.schema.json has exactly the keys of the parser.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/nearest.h"
#include "os/file.h"
#include "plan/keys.h"
#include "plan/parse.h"
#include "plan/script.h"
#include "support/places.h"

namespace pawl::plan {
namespace {

Json schema_of(const std::string& name) {
  const auto text =
      os::read_file(std::string(testing::kSourceFolder) + "/docs/" + name + ".schema.json", 1 << 20);
  EXPECT_TRUE(text);
  const auto schema = parse_json(*text);
  EXPECT_TRUE(schema) << schema.error().message;
  return *schema;
}

TEST(Schema, HasEveryKeyOfTheParserAndNoOther) {
  const Json plan = schema_of("plan"), policy = schema_of("policy"), profile = schema_of("agent-profile");
  for (const auto& [mapping, keys] : known_keys()) {
    Json place = mapping == "plan"               ? plan
                 : mapping == "profile"          ? profile
                 : mapping == "profile_base_url" ? profile["properties"]["base_url"]
                 : mapping == "policy_file"      ? policy
                 : mapping == "policy_limits"    ? policy["properties"]["limits"]
                 : mapping == "policy_trace"     ? policy["properties"]["trace"]
                                                 : plan["$defs"][mapping];
    if (mapping == "resume") place = place["oneOf"][1];
    std::set<std::string> in_schema;
    for (const auto& [name, value] : place["properties"].items()) in_schema.insert(name);
    EXPECT_EQ(in_schema, std::set<std::string>(keys.begin(), keys.end())) << mapping;
  }
}

TEST(Schema, HasEveryKindOfSignalThatAGateCanRequire) {
  const Json defs = schema_of("plan")["$defs"];
  auto kinds = signal_words();
  std::ranges::sort(kinds);
  for (const auto& place :
       {defs["gate"]["properties"]["signals"], defs["retry"]["properties"]["non_retryable"]})
    EXPECT_EQ(place["items"]["enum"].get<std::vector<std::string>>(), kinds);
}

// The message about a word that is none of those for `key`. `place`: which part of the plan has the key.
std::string message_about(const std::string& key, const std::string& place) {
  const std::string wrong = key + ": zzzzzz";
  const auto at = [&](const char* name) { return place == name ? ", " + wrong : std::string(); };
  const auto parsed =
      parse("version: 1\nworkflow: w\nsource: {path: .}\n" + (place == "plan" ? wrong + "\n" : "") +
                "sandbox: {memory_limit_mib: 100" + at("sandbox") + "}\nretry: {oom_retryable: true" +
                at("retry") + "}\ngates:\n  g: {steps: [{name: s, run: make" + at("step") + "}]" +
                at("gate") + "}\ntiers:\n  - {phases: [{id: p, goal: g, agent: {acp: [a]" + at("agent") +
                "}, gates: [g]" + at("phase") + "}]" + at("tier") + "}\n",
            "plan.yaml");
  for (const auto& problem : parsed.problems)
    if (problem.message.starts_with(key + ": expected one of ")) return problem.message;
  return "none";
}

TEST(Schema, HasTheWordsOfTheParserInItsOrder) {
  const Json plan = schema_of("plan")["properties"], defs = schema_of("plan")["$defs"];
  const auto expect = [](const Json& words, const std::string& key, const std::string& place) {
    std::string list;
    for (const auto& word : words["enum"]) list += (list.empty() ? "" : ", ") + word.get<std::string>();
    EXPECT_EQ(message_about(key, place), key + ": expected one of " + list + ", found 'zzzzzz'");
  };
  for (const char* key : {"git", "durable", "ignored"}) expect(plan[key], key, "plan");
  expect(defs["on_retry"], "on_retry", "plan");
  expect(defs["on_retry"], "on_retry", "phase");
  expect(defs["resume"]["oneOf"][0], "resume", "plan");
  expect(defs["resume"]["oneOf"][0], "resume", "phase");
  expect(defs["phase"]["properties"]["agent_exit"], "agent_exit", "phase");
  expect(defs["retry"]["properties"]["flaky"], "flaky", "retry");
  expect(defs["tier"]["properties"]["on_failure"], "on_failure", "tier");
  for (const char* key : {"baseline", "known_failing"}) expect(defs["gate"]["properties"][key], key, "gate");
  expect(defs["agent"]["properties"]["permissions"], "permissions", "agent");
  for (const char* key : {"shell", "network", "refused_entries"})
    expect(defs["step"]["properties"][key], key, "step");
  expect(defs["sandbox"]["properties"]["refused_entries"], "refused_entries", "sandbox");
}

TEST(Schema, HasEveryProgramWhoseUsageIsRead) {
  for (const Json& place : {schema_of("plan")["$defs"]["agent"]["properties"]["usage"],
                            schema_of("agent-profile")["properties"]["usage"]})
    EXPECT_EQ(place["enum"].get<std::vector<std::string>>(), usage_words());
}

TEST(Parse, SignalsThatAreLeftOutAreWhatTheReportsGive) {
  const auto signals = [](const std::string& reports) {
    const auto parsed = parse(
        "version: 1\nworkflow: w\nsource: {path: .}\ngates:\n  g: {steps: [{name: s, run: make, reports: {" +
            reports + "}}]}\ntiers:\n  - phases: [{id: p, goal: g, agent: {run: a}, gates: [g]}]\n",
        "plan.yaml");
    return parsed.plan ? parsed.plan->gates.at("g").signals : std::vector<std::string>{};
  };
  using Kinds = std::vector<std::string>;
  for (const auto* tests : {"junit", "tap", "ctest", "gotest", "cargo", "jest", "mocha"})
    EXPECT_EQ(signals(std::string(tests) + ": [o]"), (Kinds{"build", "tests"})) << tests;
  EXPECT_EQ(signals("sarif: [o]"), (Kinds{"build", "sarif_delta"}));
  for (const auto* scanner : {"grype", "osv", "npm_audit", "cyclonedx"})
    EXPECT_EQ(signals(std::string(scanner) + ": [o]"), (Kinds{"build", "cve_delta"})) << scanner;
  EXPECT_EQ(signals("junit: [o], tap: [p], sarif: [q]"), (Kinds{"build", "tests", "sarif_delta"}));
}

TEST(Parse, FillsInWhatThePlanDoesNotSay) {
  const auto parsed = parse(
      "version: 1\nworkflow: w\nsource: {path: .}\nsandbox: {memory_limit_mib: 100}\nmodels: [small, large]\n"
      "gates:\n  g: {steps: [{name: s, run: make test}, {name: t, run: [npm, test], memory_limit_mib: "
      "200}]}\n"
      "tiers:\n  - phases: [{id: p, goal: g, agent: {run: a}, gates: [g]}]\n"
      "  - {on_failure: continue, parallel: true, phases: [{id: q, goal: g, agent: {run: a}, gates: [g], "
      "max_attempts: 2, best_of: 3}]}\n",
      "plan.yaml");
  ASSERT_TRUE(parsed.plan) << to_text(parsed.problems.at(0));
  const Plan& plan = *parsed.plan;
  const Gate& gate = plan.gates.at("g");
  EXPECT_EQ(gate.signals, (std::vector<std::string>{"build"}));
  EXPECT_EQ(gate.steps[0].argv, script_argv(Shell::kBest, "make test"));
  EXPECT_FALSE(gate.steps[0].may_fail);
  EXPECT_EQ(gate.steps[0].limits.memory_limit_mib, 100);
  EXPECT_EQ(gate.steps[1].argv, (std::vector<std::string>{"npm", "test"}));
  EXPECT_EQ(gate.steps[1].limits.memory_limit_mib, 200);
  EXPECT_EQ(plan.tiers[0].phases[0].max_attempts, 5);
  EXPECT_EQ(plan.tiers[0].phases[0].best_of, 1);
  EXPECT_EQ(plan.tiers[1].phases[0].best_of, 3);
  EXPECT_EQ(plan.tiers[0].on_failure, OnFailure::kStop);
  EXPECT_EQ(plan.tiers[1].on_failure, OnFailure::kContinue);
  EXPECT_TRUE(plan.tiers[1].parallel);
  EXPECT_EQ(plan.find_phase("q")->max_attempts, 2);
  EXPECT_FALSE(plan.source_ref);
  EXPECT_EQ(plan.model_of_attempt(1), "small");
  EXPECT_EQ(plan.model_of_attempt(2), "large");
  EXPECT_EQ(plan.model_of_attempt(9), "large");
}

// The caller passes the facts about the host, because this room reads no file.
TEST(Parse, WarnsOfPipelinesWhereTheHostHasNoBash) {
  const std::string text =
      "version: 1\nworkflow: w\nsource: {path: .}\n"
      "gates:\n  g:\n    steps: [{name: s, run: make | tee log, may_fail: true}]\n"
      "    attempt_overrides: {2: {s: {run: make all | tee log}}}\n"
      "tiers: [{phases: [{id: p, goal: g, agent: {run: a | b}, gates: [g]}]}]\n";
  EXPECT_TRUE(parse(text, "plan.yaml").warnings.empty());
  const auto warnings = parse(text, "plan.yaml", {.host_has_bash = false}).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].line, 6);
  EXPECT_EQ(warnings[1].line, 7);
}

TEST(Parse, GivesProgramsTwiceTheMemoryOfGatesUnlessThePlanSaysAny) {
  struct Case {
    std::string sandbox, agent;
    std::int64_t of_gate, of_doctor, of_agent;
  };
  for (const Case& one :
       {Case{"", "", 2048, 4096, 4096}, Case{"sandbox: {pids_limit: 100}\n", "", 2048, 4096, 4096},
        Case{"sandbox: {memory_limit_mib: 300}\n", "", 300, 300, 300},
        Case{"sandbox: {memory_limit_mib: 300}\n", ", memory_limit_mib: 64", 300, 300, 64},
        Case{"", ", memory_limit_mib: 64", 2048, 4096, 64}})
    for (const std::string program : {"run: a", "use: codex", "acp: [a]"}) {
      const auto parsed =
          parse("version: 1\nworkflow: w\nsource: {path: .}\ndoctor: {run: ask}\n" + one.sandbox +
                    "gates: {g: {steps: [{name: s, run: t}]}}\ntiers: [{phases: [{id: p, goal: g, agent: {" +
                    program + one.agent + "}, gates: [g]}]}]\n",
                "plan.yaml");
      ASSERT_TRUE(parsed.plan) << to_text(parsed.problems.at(0));
      EXPECT_EQ(parsed.plan->gates.at("g").steps[0].limits.memory_limit_mib, one.of_gate);
      EXPECT_EQ(parsed.plan->doctor->step.limits.memory_limit_mib, one.of_doctor);
      EXPECT_EQ(parsed.plan->find_phase("p")->agent.limits.memory_limit_mib, one.of_agent) << program;
    }
}

TEST(Parse, ReadsHooksBackoffAndProbes) {
  const auto parsed = parse(
      "version: 1\nworkflow: w\nsource: {path: .}\nresume: {probe: [test, -e, done]}\ndurable: best_effort\n"
      "doctor: {run: ask, memory_limit_mib: 64}\nreplan: {run: [plan], max_replans: 3}\n"
      "backoff: {initial_seconds: 400}\ngates:\n  g: {steps: [{name: s, run: t}]}\n"
      "tiers:\n  - phases:\n    - {id: p, goal: g, agent: {run: a}, gates: [g]}\n"
      "    - {id: q, goal: g, agent: {run: a}, gates: [g], resume: skip}\n",
      "plan.yaml");
  ASSERT_TRUE(parsed.plan) << to_text(parsed.problems.at(0));
  const Plan& plan = *parsed.plan;
  EXPECT_EQ(plan.doctor->step.argv, script_argv(Shell::kBest, "ask"));
  EXPECT_EQ(plan.doctor->step.limits.memory_limit_mib, 64);
  EXPECT_EQ(plan.doctor->after_failures, 2);
  EXPECT_EQ(plan.replan->max_replans, 3);
  EXPECT_EQ(plan.backoff.max_seconds, 400) << "never less than the first";
  EXPECT_EQ(plan.find_phase("p")->resume.policy, ResumePolicy::kProbe);
  EXPECT_EQ(plan.find_phase("p")->resume.probe, (std::vector<std::string>{"test", "-e", "done"}));
  EXPECT_EQ(plan.find_phase("q")->resume.policy, ResumePolicy::kSkip);
  EXPECT_EQ(plan.find_phase("q")->durable, Durable::kBestEffort);
}

TEST(Nearest, IsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("tires", {"tiers", "gates"}), "tiers");
  EXPECT_EQ(nearest("max_atempts", {"max_attempts", "models"}), "max_attempts");
  EXPECT_EQ(nearest("zzzz", {"tiers", "gates"}), std::nullopt);
}

}  // namespace
}  // namespace pawl::plan
