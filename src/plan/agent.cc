// Reads the agent of a phase: a command of the plan, or a program that a profile knows.
#include <algorithm>

#include "base/nearest.h"
#include "plan/keys.h"
#include "plan/script.h"
#include "plan/sections.h"

namespace pawl::plan {
namespace {

void read_model(const Mapping& mapping, Phase& phase, Problems& problems) {
  if (const auto model = mapping.get("model"); model.IsDefined())
    phase.agent_model = read_string(model, "model", problems).value_or("");
}

// `key`: where the program stands.
void check_models(const Mapping& mapping, const std::string& key, const PhaseContext& context,
                  const Phase& phase, Problems& problems) {
  if (!phase.agent_model.empty()) {
    if (const auto status = check_model_name(phase.agent_model); !status)
      problems.add(mapping.get("model"), "model: " + status.error().message);
    return;
  }
  for (const auto& model : context.plan.models)
    if (const auto status = check_model_name(model); !status)
      problems.add(mapping.get(key), key + ": a name in `models`, " + status.error().message);
}

// Keys that say the same in another way.
void check_no_command(const Mapping& mapping, Problems& problems) {
  for (const auto* key : {"run", "shell"})
    if (mapping.get(key).IsDefined())
      problems.add(mapping.key_node(key), std::string(key) +
                                              ": the profile of `use` has the command; leave one of "
                                              "them out. `args` adds arguments");
}

void check_goal(const YAML::Node& at, const std::string& key, const Phase& phase, Problems& problems) {
  if (phase.goal.size() <= kGoalOfProfileBytesMax) return;
  problems.add(at, key + ": a goal of " + std::to_string(phase.goal.size()) + " bytes; at most " +
                       std::to_string(kGoalOfProfileBytesMax) +
                       " fit into an argument with the feedback: put the text into a file beside the plan, "
                       "which the agent finds in /plan, and name it in the goal");
}

ProgramChoice read_choice(const Mapping& mapping, Problems& problems) {
  ProgramChoice out;
  if (const auto args = mapping.get("args"); args.IsDefined())
    out.args = read_strings(args, "args", problems);
  const auto url = mapping.get("base_url");
  if (!url.IsDefined()) return out;
  out.base_url = read_string(url, "base_url", problems).value_or("");
  if (out.base_url.empty()) return out;
  if (const auto status = check_base_url(out.base_url); !status) {
    problems.add(url, "base_url: " + status.error().message);
    out.base_url.clear();
  }
  return out;
}

// `words`: `run` or `continued` of the profile.
std::vector<std::string> command_of(const Mapping& mapping, const Profile& profile,
                                    const std::vector<std::string>& words, const ProgramChoice& choice,
                                    Problems& problems) {
  const std::string script = script_of_profile(profile, words, choice);
  if (script.size() > kWordBytesMax)
    problems.add(mapping.key_node("args"), "args: the command has " + std::to_string(script.size()) +
                                               " bytes; at most " + std::to_string(kWordBytesMax));
  return script_argv(Shell::kSh, script);
}

void read_used_program(const Mapping& mapping, const Profile& profile, const Defaults& defaults, Phase& phase,
                       Problems& problems) {
  Step& step = phase.agent;
  step.name = "run";
  step.shell = Shell::kSh;
  const auto choice = read_choice(mapping, problems);
  if (!choice.base_url.empty() && profile.default_url.empty())
    problems.add(mapping.get("base_url"), "base_url: the profile " + mapping.get("use").Scalar() +
                                              " does not say how its program is given one");
  step.argv = command_of(mapping, profile, profile.run, choice, problems);
  if (!profile.continued.empty())
    phase.agent_continue = command_of(mapping, profile, profile.continued, choice, problems);
  step.limits = defaults.program_limits;
  read_limits(mapping, kAgentSecondsMax, step.limits, problems);
  read_network(mapping, egress_of_profile(profile, choice), step, problems);
}

// A profile for one plan: its words are not a text with placeholders.
void read_acp(const Mapping& mapping, const PhaseContext& context, Phase& phase, Problems& problems) {
  for (const auto* key : {"run", "shell", "use", "args", "base_url"})
    if (mapping.get(key).IsDefined())
      problems.add(mapping.key_node(key), std::string(key) + ": `acp` is the command; leave one of them out");
  const auto words = mapping.get("acp");
  if (!words.IsSequence() || words.size() == 0)
    return problems.add(words, "acp: expected the words of a command, as in [gemini, --acp]");
  Profile profile;
  profile.run = {"{args}"};
  profile.acp = true;
  read_model(mapping, phase, problems);
  check_models(mapping, "acp", context, phase, problems);
  ProgramChoice choice{.args = read_command(words, "acp", Shell::kSh, problems)};
  if (const auto node = mapping.get("permissions"); node.IsDefined())
    choice.asks_person = read_word(node, "permissions", {"allow", "ask"}, problems) == "ask";
  if (choice.asks_person && !mapping.get("time_budget_seconds").IsDefined())
    problems.warn(mapping.get("permissions"),
                  "permissions: the agent waits for a person within its time_budget_seconds, " +
                      std::to_string(context.defaults.program_limits.time_budget_seconds) +
                      ": say here how long a person may take, at most 86400");
  if (words[0].IsScalar()) check_program_name(words[0], "acp", words[0].Scalar(), problems);
  Step& step = phase.agent;
  step.name = "run";
  step.shell = Shell::kSh;
  step.argv = script_argv(Shell::kSh, script_of_profile(profile, profile.run, choice));
  step.limits = context.defaults.program_limits;
  read_limits(mapping, kAgentSecondsMax, step.limits, problems);
  read_network(mapping, {}, step, problems);
  check_goal(words, "acp", phase, problems);
  phase.agent_acp = true;
  phase.agent_usage = kAcpUsage;
  phase.exit_codes = acp_exit_codes();
}

// Returns the profile; null when the plan can't have it.
const Profile* read_use(const Mapping& mapping, PhaseContext& context, Phase& phase, Problems& problems) {
  const auto use = mapping.get("use");
  check_no_command(mapping, problems);
  read_model(mapping, phase, problems);
  const auto* profile = context.profiles.find(use, problems);
  if (profile == nullptr) return nullptr;
  check_goal(use, "use", phase, problems);
  check_models(mapping, "use", context, phase, problems);
  if (profile->needs_model && phase.agent_model.empty() && context.plan.models.empty())
    problems.add(use,
                 "use: " + use.Scalar() + " needs a model: add `model: NAME` here, or `models` to the plan");
  read_used_program(mapping, *profile, context.defaults, phase, problems);
  phase.agent_acp = profile->acp;
  phase.agent_usage = profile->usage;
  phase.exit_codes = profile->exit_codes;
  return profile;
}

// `phase` has its credentials already.
void want_key(const Mapping& mapping, const Profile& profile, PhaseContext& context, const Phase& phase) {
  const bool wants_none = mapping.get("credentials").IsDefined() && phase.credentials.empty();
  const auto is_given = [&](const std::string& key) {
    return std::ranges::find(phase.credentials, key, &Credential::name) != phase.credentials.end() ||
           std::ranges::find(context.plan.env, key) != context.plan.env.end() ||
           context.plan.env_set.contains(key);
  };
  if (profile.key.empty() || wants_none || std::ranges::any_of(profile.keys(), is_given)) return;
  const auto use = mapping.get("use");
  context.wanted_keys[phase.id] = {
      .profile = use.Scalar(), .has_base_url = mapping.get("base_url").IsDefined(), .at = place_of(use)};
}

// `claude` and `gemini-cli` mean claude_code and gemini: one name begins with the words of the other. No edit
// distance finds these.
std::optional<std::string> profile_meant(std::string name, const std::vector<std::string>& profiles) {
  std::ranges::replace(name, '-', '_');
  for (const auto& profile : profiles)
    if ((profile + "_").starts_with(name + "_") || (name + "_").starts_with(profile + "_")) return profile;
  return nearest(name, profiles);
}

}  // namespace

const Profile* Profiles::find(const YAML::Node& use, Problems& problems) {
  const auto name = read_string(use, "use", problems);
  if (!name) return nullptr;
  if (!profiles_.contains(*name)) read(*name, use, problems);
  const auto& found = profiles_.at(*name);
  return found ? &*found : nullptr;
}

void Profiles::read(const std::string& name, const YAML::Node& use, Problems& problems) {
  auto& out = profiles_[name];
  std::optional<ProfileText> own;
  if (is_name(name) && around_.own_profile) {
    auto found = around_.own_profile(name);
    if (!found) return problems.add(use, "use: " + found.error().message);
    own = *std::move(found);
  }
  const auto built_in = built_in_profile(name);
  if (!own && !built_in) {
    const auto names = built_in_profiles();
    const auto near = profile_meant(name, names);
    std::string all;
    for (const auto& each : names) all += (all.empty() ? "" : ", ") + each;
    return problems.add(use, "use: no profile '" + name.substr(0, 60) + "'" +
                                 (near ? "; did you mean '" + *near + "'?" : "; Pawl has " + all + ".") +
                                 " Your own lie in ~/.config/pawl/agents/NAME.yaml");
  }
  const std::string text = own ? own->text : std::string(*built_in);
  auto parsed = parse_profile(text, own ? own->file : "profile " + name);
  for (auto& problem : parsed.problems) problems.add(std::move(problem));
  if (!parsed.profile) return;
  texts_[name] = text;
  out = *std::move(parsed.profile);
}

void read_agent(const Mapping& mapping, PhaseContext& context, Phase& phase, Problems& problems) {
  constexpr std::int64_t kChildrenMax = 1000;  // the most that an episode stores
  const Profile* profile = nullptr;
  if (mapping.get("permissions").IsDefined() && !mapping.get("acp").IsDefined())
    problems.add(
        mapping.key_node("permissions"),
        "permissions: needs `acp: [...]`, the command of a program that speaks the Agent Client Protocol; "
        "with `use` its profile decides what the program asks");
  if (mapping.get("acp").IsDefined()) {
    read_acp(mapping, context, phase, problems);
  } else if (mapping.get("use").IsDefined()) {
    profile = read_use(mapping, context, phase, problems);
  } else {
    for (const auto* key : {"model", "args", "base_url"})
      if (mapping.get(key).IsDefined())
        problems.add(mapping.key_node(key),
                     std::string(key) + ": needs `use: NAME`, a profile of the program");
    phase.agent = read_program(mapping, context.defaults, problems);
  }
  read_credentials(mapping, context.plan, phase, problems);
  if (profile != nullptr) want_key(mapping, *profile, context, phase);
  read_number(mapping, "max_children", {0, kChildrenMax}, phase.max_children, problems);
  if (const auto node = mapping.get("usage"); node.IsDefined())
    phase.agent_usage = read_word(node, "usage", usage_words(), problems).value_or("");
  if (const auto node = mapping.get("budget"); node.IsDefined())
    read_spending(Mapping(node, "budget", "agent_budget", problems), phase.agent_budget, problems);
}

}  // namespace pawl::plan
