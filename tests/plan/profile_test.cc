// Profiles of agent programs: what is read, what is refused, and the script that one becomes.
#include "plan/profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/private_names.h"
#include "plan/keys.h"
#include "plan/script.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kSmall = "version: 1\nrun: [tool, \"{args}\", \"{prompt}\"]\n";

std::string told(const std::vector<Problem>& problems) {
  std::string out;
  for (const auto& problem : problems) out += to_text(problem) + "\n";
  return out;
}

Profile read(const std::string& text) {
  auto parsed = parse_profile(text, "p.yaml");
  EXPECT_TRUE(parsed.profile) << told(parsed.problems);
  return parsed.profile.value_or(Profile());
}

std::string script(const std::string& text, const ProgramChoice& choice = {}) {
  const auto profile = read(text);
  return script_of_profile(profile, profile.run, choice);
}

// A plan whose agent has these keys, with a profile `own` of this text.
Parsed plan_with(const std::string& agent, const std::string& own = std::string(kSmall),
                 const std::string& top = "") {
  return parse(
      "version: 1\nworkflow: w\nsource: {path: .}\n" + top +
          "gates:\n  g: {steps: [{name: s, run: t}]}\ntiers:\n  - phases:\n    - {id: p, goal: g, gates: "
          "[g], agent: {" +
          agent + "}}\n",
      "plan.yaml", {.own_profile = [&](const std::string& name) -> Result<std::optional<ProfileText>> {
        if (name != "own") return std::nullopt;
        return ProfileText{.file = "own.yaml", .text = own};
      }});
}

TEST(Profiles, AKeyIsWantedWhereThePlanGivesNone) {
  const std::string own = std::string(kSmall) + "key: OWN_KEY\nother_keys: [OWN_SIGN]\n";
  struct Case {
    const char *agent, *top;
    bool is_wanted;
  };
  for (const auto& [agent, top, is_wanted] :
       std::vector<Case>{{"use: own", "", true},
                         {"use: own, credentials: {OTHER_KEY: {env: A}}", "", true},
                         {"use: own, credentials: {OWN_KEY: {env: A}}", "", false},
                         {"use: own, credentials: {OWN_SIGN: {env: A}}", "", false},
                         {"use: own, credentials: {}", "", false},
                         {"use: own", "env: [OWN_SIGN]\n", false},
                         {"use: own", "env: {set: {OWN_SIGN: a}}\n", false},
                         {"run: x", "", false}}) {
    const auto parsed = plan_with(agent, own, top);
    ASSERT_TRUE(parsed.plan) << told(parsed.problems);
    EXPECT_EQ(parsed.plan->wanted_keys.contains("p"), is_wanted) << agent << top;
  }
  EXPECT_TRUE(plan_with("use: own").plan->wanted_keys.empty()) << "the profile has no key";
  const auto with_url = plan_with("use: codex, base_url: \"http://a.org\"").plan->wanted_keys.at("p");
  EXPECT_EQ(with_url.profile, "codex");
  EXPECT_TRUE(with_url.has_base_url);
  EXPECT_EQ(with_url.at.line, 8);
}

TEST(Profiles, ThatAreCompiledInAreGood) {
  EXPECT_EQ(
      built_in_profiles(),
      (std::vector<std::string>{"aider", "claude_code", "codex", "gemini", "gemini_acp", "mini_swe_agent",
                                "opencode", "opencode_acp", "openhands", "pi", "qwen", "qwen_acp"}));
  for (const auto& name : built_in_profiles()) {
    const auto profile = read(std::string(*built_in_profile(name)));
    EXPECT_FALSE(profile.key.empty()) << name;
    EXPECT_FALSE(egress_of_profile(profile, {}).empty()) << name;
    // The start of a run names a program that no step has: it must be seen in the script.
    const auto programs = programs_of(script_argv(Shell::kSh, script_of_profile(profile, profile.run, {})));
    EXPECT_NE(std::ranges::find(programs, profile.program()), programs.end()) << name;
  }
  EXPECT_FALSE(built_in_profile("nobody"));
}

// Else a mount for the program would show every step how its user signs in.
TEST(Profiles, LoginsOfThoseCompiledInAreShownToNoStep) {
  std::size_t logins = 0;
  for (const auto& name : built_in_profiles()) {
    const auto profile = read(std::string(*built_in_profile(name)));
    for (const auto& file : profile.login)
      EXPECT_TRUE(is_key_name(file)) << name << ": " << file << " is to be in src/base/private_names.cc";
    logins += profile.login.size();
  }
  EXPECT_GE(logins, 9U);
}

// The command at the end of the script.
std::string last_line(const std::vector<std::string>& argv) {
  const auto text = script_of(argv).value_or("");
  return text.substr(text.rfind("exec "));
}

TEST(Acp, ThePlansWordsAreStartedByTheClient) {
  const auto parsed =
      plan_with("acp: [my-agent, --acp, \"{prompt} $x\", 7], network: scoped, egress: [\"h:1\"]");
  ASSERT_TRUE(parsed.plan) << told(parsed.problems);
  const auto& phase = parsed.plan->tiers[0].phases[0];
  EXPECT_EQ(last_line(phase.agent.argv),
            "exec /pawl-acp --prompt=\"${prompt}\" --model=\"${PAWL_MODEL}\" -- my-agent --acp \"{prompt} "
            "\\$x\" 7\n");
  EXPECT_TRUE(phase.agent_acp);
  EXPECT_EQ(phase.agent_usage, "acp");
  EXPECT_EQ(phase.exit_codes, acp_exit_codes());
  EXPECT_EQ(phase.resume.policy, ResumePolicy::kContinue);
  EXPECT_EQ(phase.agent.egress, std::vector<std::string>{"h:1"});
  EXPECT_EQ(programs_of(phase.agent.argv), std::vector<std::string>{"my-agent"})
      << "the client is there in any case";
}

TEST(Acp, APersonAnswersPermissionsWhenThePlanSaysSo) {
  for (const auto& [says, command] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", " -- my-agent\n"},
           {", permissions: allow", " -- my-agent\n"},
           {", permissions: ask", " --permissions=ask -- my-agent\n"}}) {
    const auto parsed = plan_with("acp: [my-agent]" + says);
    ASSERT_TRUE(parsed.plan) << told(parsed.problems);
    EXPECT_TRUE(last_line(parsed.plan->tiers[0].phases[0].agent.argv).ends_with(command)) << says;
  }
  const auto warnings = [](const std::string& more) {
    return plan_with("acp: [my-agent], permissions: " + more).warnings.size();
  };
  EXPECT_EQ(warnings("ask"), warnings("allow") + 1) << "a person has ten minutes";
  EXPECT_EQ(warnings("ask, time_budget_seconds: 3600"), warnings("allow"));
  for (const auto* command : {"run: a", "use: codex"})
    EXPECT_NE(told(plan_with(std::string(command) + ", permissions: ask").problems)
                  .find("permissions: needs `acp: [...]`"),
              std::string::npos)
        << command;
}

TEST(Acp, AProfilesWordsAreStartedByTheClient) {
  const auto parsed =
      plan_with("use: own, args: [-x], model: m",
                "version: 1\nacp: [tool, \"{model_args}\", \"{args}\"]\nmodel_args: [-m, \"{model}\"]\n"
                "exit_codes: {24: own words}\n");
  ASSERT_TRUE(parsed.plan) << told(parsed.problems);
  const auto& phase = parsed.plan->tiers[0].phases[0];
  EXPECT_EQ(last_line(phase.agent.argv),
            "exec /pawl-acp --prompt=\"${prompt}\" -- tool ${PAWL_MODEL:+-m \"${PAWL_MODEL}\"} -x\n");
  EXPECT_TRUE(phase.agent_acp);
  EXPECT_EQ(phase.agent_usage, "acp");
  EXPECT_EQ(phase.exit_codes.at(24), "own words");
  EXPECT_EQ(phase.exit_codes.at(26), acp_exit_codes().at(26));
  EXPECT_EQ(phase.resume.policy, ResumePolicy::kContinue);
}

TEST(Acp, TheModelIsThatOfThePlan) {
  const auto parsed = plan_with("acp: [my-agent], model: large");
  ASSERT_TRUE(parsed.plan) << told(parsed.problems);
  EXPECT_EQ(parsed.plan->tiers[0].phases[0].agent_model, "large");
  const auto bad = plan_with("acp: [my-agent]", std::string(kSmall), "models: [\"a b\"]\n");
  EXPECT_NE(told(bad.problems).find("plan.yaml:9:49: acp: a name in `models`, 'a b'"), std::string::npos)
      << told(bad.problems);
}

TEST(Acp, MistakesAreNamedWhereTheyStand) {
  for (const auto& [agent, mistake] : std::initializer_list<std::pair<const char*, const char*>>{
           {"acp: my-agent --acp", "plan.yaml:8:49: acp: expected the words of a command"},
           {"acp: []", "plan.yaml:8:49: acp: expected the words of a command"},
           {"acp: [[a]]", "plan.yaml:8:50: acp"},
           {"acp: [--x]", "plan.yaml:8:50: acp: '--x' must be the name of a program in PATH"},
           {"acp: [\"--model=y\", prog]", "plan.yaml:8:50: acp: '--model=y' must be the name"},
           {"acp: [\"--\", prog]", "plan.yaml:8:50: acp: '--' must be the name"},
           {"acp: [-x]", "plan.yaml:8:50: acp: '-x' must be the name"},
           {"acp: [\"\", prog]", "plan.yaml:8:50: acp: '' must be the name"},
           {"acp: [bin/prog]", "plan.yaml:8:50: acp: 'bin/prog' must be the name"},
           {"acp: [a], run: b", "plan.yaml:8:54: run: `acp` is the command"},
           {"acp: [a], use: own", "plan.yaml:8:54: use: `acp` is the command"},
           {"acp: [a], model: -m", "plan.yaml:8:61: model: '-m' can't be given"},
           {"acp: [a], args: [b]", "plan.yaml:8:54: args: `acp` is the command"},
           {"acp: [a], base_url: \"http://h\"", "plan.yaml:8:54: base_url: `acp` is the command"}}) {
    const auto parsed = plan_with(agent);
    EXPECT_FALSE(parsed.plan) << agent;
    EXPECT_NE(told(parsed.problems).find(mistake), std::string::npos) << told(parsed.problems);
  }
  for (const auto& [profile, mistake] : std::initializer_list<std::pair<const char*, const char*>>{
           {"version: 1\nacp: [a, \"{args}\"]\nrun: [b]\n", "own.yaml:3:1: run: `acp` is the command"},
           {"version: 1\nacp: [a, \"{args}\"]\ncontinue: [b]\n",
            "own.yaml:3:1: continue: `acp` is the command"},
           {"version: 1\nacp: [a, \"{args}\", \"{prompt}\"]\n",
            "own.yaml:2:20: acp: {prompt} has no place here"},
           {"version: 1\nacp: [a]\n", "own.yaml:2:6: acp: has no word {args}"}})
    EXPECT_NE(told(plan_with("use: own", profile).problems).find(mistake), std::string::npos)
        << profile << told(plan_with("use: own", profile).problems);
}

TEST(Profiles, BecomeAScript) {
  const std::string begin =
      "prompt=$PAWL_GOAL\n"
      "was='Its changes are undone, and /pawl/evidence/previous.patch has them.'\n"
      "case ${PAWL_CONTINUES:-} in\n"
      "  retry)\n"
      "    was='The files are as it left them, but for those that the judgement says were not kept. "
      "/workspace/.git has none of its commits.'\n"
      "    prompt=\"Go on with your task:\n\n$prompt\" ;;\n"
      "  ?*)\n"
      "    was='/pawl/evidence/previous.patch has its changes.'\n"
      "    prompt=\"You were interrupted. The files are as you left them. Go on with your task:\n\n"
      "$prompt\" ;;\n"
      "esac\n"
      "if [ -n \"$PAWL_FEEDBACK\" ]; then\n"
      "  prompt=\"$prompt\n\nAn earlier attempt did not pass. $was The judgement, as JSON:\n"
      "$(cat \"$PAWL_FEEDBACK\")\"\n"
      "fi\n"
      "case $prompt in [-/!#@[:space:]]*) prompt=\"Your task:\n\n$prompt\" ;; esac\n";
  EXPECT_EQ(script(std::string(kSmall), {.args = {"--fast", "a \"$b\" `c` \\d"}}),
            begin + "exec tool --fast \"a \\\"\\$b\\\" \\`c\\` \\\\d\" \"${prompt}\"\n");
  const std::string full = R"(version: 1
run: [tool, "{model_args}", "{args}", "--text={prompt}"]
model_args: [--model, "x/{model}"]
set: {QUIET: "1", URL: "{base_url}", MONEY: "$5", AS: "{date}"}
files: {".tool/a.json": '{"url": "{base_url}", "price": "$5", "env": "{env:X} {prompt}"}'}
key: TOOL_KEY
base_url: {default: "https://api.example.org/v1", set: {OTHER: "{base_url}/x"}}
egress: ["login.example.org:443"]
)";
  EXPECT_EQ(script(full), begin +
                              "export AS=\"{date}\"\nexport MONEY=\"\\$5\"\nexport QUIET=1\nexport "
                              "URL=https://api.example.org/v1\n"
                              "mkdir -p \"$HOME/.tool\"\ncat >\"$HOME/.tool/a.json\" <<PAWL_END_OF_FILE\n"
                              "{\"url\": \"https://api.example.org/v1\", \"price\": \"\\$5\", \"env\": "
                              "\"{env:X} {prompt}\"}\nPAWL_END_OF_FILE\n"
                              "exec tool ${PAWL_MODEL:+--model \"x/${PAWL_MODEL}\"} \"--text=${prompt}\"\n");
  const auto elsewhere = script(full, {.base_url = "http://127.0.0.1:8080"});
  EXPECT_NE(elsewhere.find("export OTHER=http://127.0.0.1:8080/x\nexport TOOL_KEY=\"${TOOL_KEY:-none}\"\n"),
            std::string::npos)
      << elsewhere;
  EXPECT_EQ(elsewhere.find("api.example.org"), std::string::npos);
  // A key that is set would count before another way to sign in.
  const auto signed_in = script(full + "other_keys: [TOKEN, PASS]\n", {.base_url = "http://127.0.0.1:8080"});
  EXPECT_NE(signed_in.find("\n[ -n \"${TOKEN:-}${PASS:-}\" ] || export TOOL_KEY=\"${TOOL_KEY:-none}\"\n"),
            std::string::npos)
      << signed_in;
}

TEST(Profiles, ThatGoOnInASessionDoSoUnlessThePlanSaysOtherwise) {
  const std::string goes_on = std::string(kSmall) + "continue: [tool, --again, \"{args}\", \"{prompt}\"]\n";
  const auto phase_with = [](const std::string& own, const std::string& agent, const std::string& top = "") {
    const auto parsed = plan_with(agent, own, top);
    EXPECT_TRUE(parsed.plan) << told(parsed.problems);
    return parsed.plan ? parsed.plan->tiers.at(0).phases.at(0) : Phase();
  };
  const auto phase = phase_with(goes_on, "use: own, args: [--fast]");
  EXPECT_EQ(phase.resume.policy, ResumePolicy::kContinue);
  ASSERT_FALSE(phase.agent_continue.empty());
  EXPECT_NE(phase.agent_continue.back().find("exec tool --again --fast"), std::string::npos);
  EXPECT_EQ(phase_with(goes_on, "use: own", "resume: re_execute\n").resume.policy, ResumePolicy::kReExecute);
  const auto other = phase_with(std::string(kSmall), "use: own");
  EXPECT_EQ(other.resume.policy, ResumePolicy::kReExecute);
  EXPECT_TRUE(other.agent_continue.empty());
  EXPECT_EQ(phase_with("", "run: tool", "resume: continue\n").resume.policy, ResumePolicy::kContinue);
  EXPECT_EQ(phase_with("", "run: tool", "on_retry: continue\n").resume.policy, ResumePolicy::kContinue);
  EXPECT_EQ(phase_with("", "run: tool", "on_retry: continue\nresume: skip\n").resume.policy,
            ResumePolicy::kSkip);
}

TEST(Profiles, SayWhatTheProgramReaches) {
  const auto profile =
      read(std::string(kSmall) +
           "base_url: {default: \"https://api.example.org/v1\"}\negress: [\"login.example.org:443\"]\n");
  EXPECT_EQ(egress_of_profile(profile, {}),
            (std::vector<std::string>{"api.example.org:443", "login.example.org:443"}));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http://127.0.0.1:11434/v1", "127.0.0.1:11434"},
      {"http://localhost:8080", "127.0.0.1:8080"},
      {"https://a.localhost", "127.0.0.1:443"},
      {"http://[::1]:8080/v1", "[::1]:8080"},
      {"https://[2001:db8::1]", "[2001:db8::1]:443"},
      {"https://llm.example.org", "llm.example.org:443"},
      {"http://llm.example.org/v1/", "llm.example.org:80"},
  };
  for (const auto& [url, endpoint] : cases) {
    EXPECT_TRUE(check_base_url(url)) << url;
    EXPECT_EQ(egress_of_profile(profile, {.base_url = url}), std::vector{endpoint}) << url;
  }
  for (const char* url :
       {"", "llm.example.org", "ftp://a.org", "http://", "http://a b", "http://me:word@a.org",
        "http://a.org?x=1", "http://a.org:0", "http://a.org:http", "http://$(id)", "http://*.a.org",
        "http://a.org/\"", "http://[::1", "http://127.1:80"}) {
    const auto status = check_base_url(url);
    EXPECT_FALSE(status) << url;
    if (!status) {
      EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
    }
  }
}

TEST(Profiles, WithAMistakeAreRefusedAtItsPlace) {
  struct Bad {
    std::string text, place, words;
  };
  const std::string small(kSmall);
  const std::vector<Bad> cases = {
      {"", "", "empty"},
      {"version: 2\nrun: [a, \"{prompt}\", \"{args}\"]\n", "p.yaml:1:10", "1"},
      {"version: 1\n", "p.yaml:1:1", "run"},
      {"version: 1\nrun: tool\n", "p.yaml:2:6", "list"},
      {"version: 1\nrun: [./tool, \"{prompt}\", \"{args}\"]\n", "p.yaml:2:7", "PATH"},
      {"version: 1\nrun: [tool, \"{args}\"]\n", "p.yaml:2:6", "{prompt}"},
      {"version: 1\nrun: [tool, \"{prompt}\"]\n", "p.yaml:2:6", "{args}"},
      {"version: 1\nrun: [tool, \"{prompt}\", \"x{args}\"]\n", "p.yaml:2:25", "own"},
      {"version: 1\nrun: [tool, \"{prompt}\", \"{args}\", \"{goal}\"]\n", "p.yaml:2:35", "{goal}"},
      {"version: 1\nrun: [tool, \"{prompt}\", \"{args}\", \"{model}\"]\n", "p.yaml:2:35", "needs_model"},
      {"version: 1\nrun: [tool, \"{prompt}\", \"{args}\", \"{model_args}\"]\n", "p.yaml:2:35", "model_args"},
      {small + "model_args: [-m, \"{model}\"]\n", "p.yaml:2:6", "{model_args}"},
      {small + "continue: [tool]\n", "p.yaml:3:11", "{prompt}"},
      {small + "modle: x\n", "p.yaml:3:1", "unknown key"},
      {small + "needs_model: often\n", "p.yaml:3:14", "true or false"},
      {small + "set: [a]\n", "p.yaml:3:6", "mapping"},
      {small + "set: {A: 1}\n", "p.yaml:3:10", "string"},
      {small + "set: {PATH: /x}\n", "p.yaml:3:7", "PATH"},
      {small + "set: {PAWL_GOAL: x}\n", "p.yaml:3:7", "PAWL_GOAL"},
      {small + "set: {MY_API_KEY: x}\n", "p.yaml:3:7", "secret"},
      {small + "set: {A: \"{model}\"}\n", "p.yaml:3:10", "needs_model"},
      {small + "files: {../x: y}\n", "p.yaml:3:9", "HOME"},
      {small + "files: {\"a$(id)\": y}\n", "p.yaml:3:9", "HOME"},
      {small + "files: {x: \"{model}\"}\n", "p.yaml:3:12", "needs_model"},
      {small + "files: {x: \"{base_url}\"}\n", "p.yaml:3:12", "default"},
      {small + "set: {A: \"{base_url}\"}\n", "p.yaml:3:10", "default"},
      {small + "set: {A: \"{prompt}\"}\n", "p.yaml:3:10", "{prompt}"},
      {small + "files:\n  x: |\n    a\n    PAWL_END_OF_FILE\n    b\n", "p.yaml:4:6", "ends the file"},
      {small + "key: \"A B\"\n", "p.yaml:3:6", "name"},
      {small + "other_keys: [A]\n", "p.yaml:3:1", "needs `key`"},
      {small + "key: A\nother_keys: [\"B C\"]\n", "p.yaml:4:14", "name"},
      {small + "login: [/etc/x]\n", "p.yaml:3:9", "HOME"},
      {small + "base_url: https://a.org\n", "p.yaml:3:11", "mapping"},
      {small + "base_url: {set: {A: b}}\n", "p.yaml:3:11", "default"},
      {small + "base_url: {default: a.org}\n", "p.yaml:3:21", "http"},
      {small + "egress: [localhost:80]\n", "p.yaml:3:10", "127.0.0.1:80"},
      {small + "usage: nobody\n", "p.yaml:3:8", "expected one of"},
      {small + "exit_codes: {0: fine}\n", "p.yaml:3:14", "1 to 255"},
      {small + "run: [a]\n", "p.yaml:3:1", "duplicate"},
  };
  for (const auto& bad : cases) {
    const auto parsed = parse_profile(bad.text, "p.yaml");
    EXPECT_FALSE(parsed.profile) << bad.text;
    ASSERT_FALSE(parsed.problems.empty()) << bad.text;
    const auto text = told(parsed.problems);
    EXPECT_NE(text.find(bad.place + (bad.place.empty() ? "" : ": ")), std::string::npos) << bad.text << text;
    EXPECT_NE(text.find(bad.words), std::string::npos) << bad.text << text;
  }
}

TEST(Profiles, MakeTheAgentOfAPlan) {
  const auto parsed = plan_with(
      "use: own, model: m-1, args: [-x], base_url: \"http://localhost:1\", egress: [\"a.org:80\", "
      "\"127.0.0.1:1\"], memory_limit_mib: 64",
      std::string(kSmall) +
          "base_url: {default: \"https://b.org\"}\nusage: codex\nexit_codes: {3: no key}\n");
  ASSERT_TRUE(parsed.plan) << told(parsed.problems);
  const auto& phase = parsed.plan->tiers[0].phases[0];
  const auto found = script_of(phase.agent.argv);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ends_with("exec tool -x \"${prompt}\"\n")) << *found;
  EXPECT_EQ(phase.agent.network, Network::kScoped);
  EXPECT_EQ(phase.agent.egress, (std::vector<std::string>{"127.0.0.1:1", "a.org:80"}));
  EXPECT_EQ(phase.agent.limits.memory_limit_mib, 64);
  EXPECT_EQ(phase.agent_model, "m-1");
  EXPECT_EQ(phase.agent_usage, "codex");
  EXPECT_EQ(phase.exit_codes.at(3), "no key");
  EXPECT_EQ(parsed.plan->profiles.at("own").substr(0, kSmall.size()), kSmall);
}

TEST(Profiles, ReachNothingWhenThePlanSaysSo) {
  const auto none = plan_with("use: claude_code, network: none");
  ASSERT_TRUE(none.plan) << told(none.problems);
  EXPECT_EQ(none.plan->tiers[0].phases[0].agent.network, Network::kNone);
  EXPECT_TRUE(none.plan->tiers[0].phases[0].agent.egress.empty());
  const auto own = plan_with("use: own, usage: gemini_cli");
  ASSERT_TRUE(own.plan) << told(own.problems);
  EXPECT_EQ(own.plan->tiers[0].phases[0].agent.network, Network::kNone) << "the profile names no host";
  EXPECT_EQ(own.plan->tiers[0].phases[0].agent_usage, "gemini_cli");
}

TEST(Profiles, OfAUserReplaceThoseThatAreCompiledIn) {
  const auto parsed = parse(
      "version: 1\nworkflow: w\nsource: {path: .}\ngates: {g: {steps: [{name: s, run: t}]}}\n"
      "tiers: [{phases: [{id: p, goal: g, gates: [g], agent: {use: codex}}]}]\n",
      "plan.yaml", {.own_profile = [](const std::string&) -> Result<std::optional<ProfileText>> {
        return ProfileText{.file = "own.yaml", .text = std::string(kSmall)};
      }});
  ASSERT_TRUE(parsed.plan) << told(parsed.problems);
  EXPECT_TRUE(script_of(parsed.plan->tiers[0].phases[0].agent.argv)->ends_with("exec tool \"${prompt}\"\n"));
}

TEST(Profiles, AreNamedInAPlanThatCannotHaveThem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"use: codx", "did you mean 'codex'?"},
      {"use: ../x", "no profile '../x'; Pawl has aider, "},
      {"use: nobody", "qwen_acp. Your own lie in ~/.config/pawl/agents/NAME.yaml"},
      {"use: claude", "did you mean 'claude_code'?"},
      {"use: gemini-cli", "did you mean 'gemini'?"},
      {"use: qwen_code", "did you mean 'qwen'?"},
      {"use: own, run: x", "the profile of `use` has the command"},
      {"run: x, model: m", "model: needs `use: NAME`"},
      {"run: x, args: [a]", "args: needs `use: NAME`"},
      {"run: x, base_url: \"http://a.org\"", "base_url: needs `use: NAME`"},
      {"use: own, base_url: \"http://a.org\"", "does not say how its program is given one"},
      {"use: codex, base_url: \"http://me:x@a.org\"", "credentials in a URL"},
      {"use: codex, model: \"a b\"", "can't be given to a program of a profile"},
      {"use: pi", "needs a model"},
      {"use: codex, args: [1]", "expected a string"},
  };
  for (const auto& [agent, words] : cases) {
    const auto parsed = plan_with(agent);
    EXPECT_FALSE(parsed.plan) << agent;
    EXPECT_NE(told(parsed.problems).find(words), std::string::npos) << agent << "\n" << told(parsed.problems);
  }
  const auto goal = parse(
      "version: 1\nworkflow: w\nsource: {path: .}\ngates: {g: {steps: [{name: s, run: t}]}}\n"
      "tiers: [{phases: [{id: p, gates: [g], agent: {use: codex}, goal: " +
          std::string(100'001, 'x') + "}]}]\n",
      "plan.yaml");
  EXPECT_NE(told(goal.problems).find("fit into an argument with the feedback"), std::string::npos);
  EXPECT_FALSE(plan_with("use: codex", "", "models: [fine, \"a b\"]\n").plan);
  EXPECT_TRUE(plan_with("use: pi", "", "models: [fine]\n").plan);
}

TEST(Profiles, ThatAreBadAreReportedOnceAndInTheirFile) {
  const auto parsed = parse(
      "version: 1\nworkflow: w\nsource: {path: .}\ngates: {g: {steps: [{name: s, run: t}]}}\n"
      "tiers: [{phases: [{id: p, goal: g, gates: [g], agent: {use: own}}, {id: q, goal: g, gates: [g], "
      "agent: {use: "
      "own}}]}]\n",
      "plan.yaml", {.own_profile = [](const std::string&) -> Result<std::optional<ProfileText>> {
        return ProfileText{.file = "own.yaml", .text = std::string(kSmall) + "usage: nobody\n"};
      }});
  ASSERT_EQ(parsed.problems.size(), 1U) << told(parsed.problems);
  EXPECT_EQ(parsed.problems[0].file, "own.yaml");
  EXPECT_EQ(parsed.problems[0].line, 3);
}

}  // namespace
}  // namespace pawl::plan
