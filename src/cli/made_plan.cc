#include "cli/made_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/lines.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "executor/agent_programs.h"
#include "executor/credentials.h"
#include "executor/program_keys.h"
#include "executor/programs.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "plan/mounts_text.h"
#include "plan/parse.h"
#include "plan/profile.h"
#include "plan/script.h"
#include "secrets/shapes.h"

namespace pawl::cli {
namespace {

constexpr const char* kPlansFolder = "plans";  // in the state folder
constexpr const char* kMadePlan = "the plan";
// Linux takes 128 KiB in one argument, and the parser adds a few words.
constexpr std::size_t kGateBytesMax = 130'000;

// The parts of `--credential NAME` and `--credential NAME=VARIABLE`.
struct NamedCredential {
  std::string name, variable;
};
NamedCredential credential_in(const std::string& option) {
  const auto equals = option.find('=');
  if (equals == std::string::npos) return {.name = option, .variable = option};
  return {.name = option.substr(0, equals), .variable = option.substr(equals + 1)};
}

// A string of JSON is one of YAML.
std::string in_quotes(const std::string& text) { return canonical(Json(text)); }

std::string credentials_of(const PlanRequest& request) {
  if (request.credentials.empty()) return {};
  Json sources = Json::object();
  for (const auto& option : request.credentials) {
    const auto [name, variable] = credential_in(option);
    sources[name] = {{"env", variable}};
  }
  return ", credentials: " + canonical(sources);
}

std::string text_of(const PlanRequest& request, const std::string& source,
                    const std::vector<std::string>& mounts) {
  const auto member = [](const char* key, const std::string& value) {
    return value.empty() ? std::string() : fmt::format(", {}: {}", key, in_quotes(value));
  };
  const std::string shown = plan::mounts_text(mounts);
  return fmt::format(
      "version: 1\nworkflow: {}\nsource: {{path: {}}}\n{}{}gates:\n  check: {{steps: [{{name: check, run: "
      "{}}}]}}\n"
      "tiers:\n  - phases:\n      - id: work\n        goal: {}\n        agent: {{use: {}{}{}{}, "
      "time_budget_seconds: 3600}}\n        gates: [check]\n{}",
      in_quotes(request.agent), in_quotes(source), shown.empty() ? "" : shown + "\n",
      request.attempts == 0 ? "" : fmt::format("max_attempts: {}\n", request.attempts),
      in_quotes(request.gate), in_quotes(request.goal), in_quotes(request.agent),
      member("model", request.model), member("base_url", request.base_url), credentials_of(request),
      request.best_of == 0 ? "" : fmt::format("        best_of: {}\n", request.best_of));
}

// The parser names the keys of plans. The user wrote options.
std::string with_option(const std::string& message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kOptions = {
      {{"goal", "--goal"},
       {"run", "--gate"},
       {"model", "--model"},
       {"base_url", "--base-url"},
       {"credentials", "--credential"},
       {"env", "--credential"},
       {"use", "--agent"},
       {"source", "-C"},
       {"path", "-C"}}};
  const auto end = message.find(": ");
  for (const auto& [key, option] : kOptions)
    if (message.substr(0, end) == key) return std::string(option) + message.substr(end);
  return message;
}

Result<plan::Plan> parsed(const std::string& text) {
  auto out = plan::parse(text, kMadePlan, {.own_profile = executor::own_profile});
  if (out.plan) return *std::move(out.plan);
  const auto& problem = out.problems.front();
  return fail(ErrorKind::kInvalid,
              without_secrets(problem.file == kMadePlan ? with_option(problem.message) : to_text(problem)));
}

// Adds the option and what to do to the message.
Error in_words(Error error, const std::string& agent) {
  if (error.kind == ErrorKind::kNotFound) error.message += "; `pawl agents` lists what is here";
  return std::move(error).in("--agent " + agent);
}

// The mounts that the plan needs. Checks all that does not depend on them, before anything is written.
Result<std::vector<std::string>> mounts_of(const PlanRequest& request, const std::string& source) {
  PlanRequest with_model = request;
  if (request.model.empty())
    with_model.model = "any";  // The parser names a key of plans where one is missing.
  PAWL_TRY(auto plan, parsed(text_of(with_model, source, {})));
  const auto profile = plan::parse_profile(plan.profiles.at(request.agent), request.agent).profile;
  if (request.model.empty() && profile && profile->needs_model)
    return fail(ErrorKind::kInvalid, "--agent " + request.agent + " needs a model: add `--model NAME`");
  auto mounts = executor::mounts_for(plan, source);
  if (!mounts) return std::unexpected(in_words(std::move(mounts).error(), request.agent));
  const auto added = executor::add_keys(plan);
  if (!added.lacking.empty()) {
    const auto& lacking = added.lacking.front();
    return executor::no_key("--agent " + request.agent + ": " +
                            executor::message_with_way(lacking, "--credential " + lacking.key + "=VARIABLE"));
  }
  // Without this look, the run would be made before it ends for a value that is no credential.
  auto values = executor::read_credentials(plan.tiers.front().phases.front());
  if (values) return mounts;
  values.error().message += "; `export` another value";
  return std::unexpected(in_words(std::move(values).error(), request.agent));
}

// kInvalid: a plan is UTF-8, so that another text would be replaced by a text that the user did not mean.
Status check_utf8(const char* option, const std::string& text) {
  if (valid_utf8(text) == text) return {};
  return fail(ErrorKind::kInvalid, fmt::format("{}: is not UTF-8, which a plan has to be", option));
}

Status check_texts(const PlanRequest& request) {
  const auto bad = [](std::string why) { return fail(ErrorKind::kInvalid, std::move(why)); };
  for (const auto& [option, text] : {std::pair("--agent", request.agent),
                                     {"--goal", request.goal},
                                     {"--gate", request.gate},
                                     {"--model", request.model},
                                     {"--base-url", request.base_url},
                                     {"-C", request.folder}})
    PAWL_OK(check_utf8(option, text));
  if (!plan::is_name(request.agent))
    return bad(
        without_secrets(fmt::format("--agent: '{}' must be letters, digits, '.', '_' or '-', at most 64; "
                                    "`pawl agents` lists the programs",
                                    visible(request.agent.substr(0, 80)))));
  if (is_blank(request.goal)) return bad("--goal is blank: say what the agent shall do");
  if (plan::runs_no_command(request.gate))
    return bad("--gate runs no command: name one that fails when the work is wrong, like \"npm test\"");
  if (request.goal.size() > plan::kGoalOfProfileBytesMax)
    return bad(fmt::format(
        "--goal: {} bytes; at most {}: put the text into a file of the source, and name the file in the goal",
        request.goal.size(), plan::kGoalOfProfileBytesMax));
  if (request.gate.size() > kGateBytesMax)
    return bad(fmt::format(
        "--gate: {} bytes; at most {}: put the commands into a script of the source, and name the script",
        request.gate.size(), kGateBytesMax));
  return {};
}

// Whether the name may be shown: it is no secret that stands in the place of a name.
bool is_plain_name(const std::string& name) {
  const bool has_small = std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  return plan::is_variable_name(name) && !has_small && secrets::find(name).empty();
}

// The option for a message, without a word that may be a secret.
std::string shown_credential(const PlanRequest& request, std::size_t index) {
  const auto& option = request.credentials[index];
  if (const auto equals = option.find('=');
      equals != std::string::npos && is_plain_name(option.substr(0, equals)))
    return "--credential " + option.substr(0, equals) + (equals + 1 == option.size() ? "=" : "=...");
  const auto count = request.credentials.size();
  return count == 1 ? "--credential" : fmt::format("--credential, number {} of {}", index + 1, count);
}

Status check_credential(const PlanRequest& request, std::size_t index) {
  const auto [name, variable] = credential_in(request.credentials[index]);
  const auto value = os::environment_value(variable);
  // NAME and VARIABLE may be exchanged, so that NAME is the secret, which no message shows.
  const bool are_exchanged = name == value;
  const std::string shown = are_exchanged ? "--credential" : shown_credential(request, index);
  if (name.empty() || variable.empty())
    return fail(ErrorKind::kInvalid, shown + ": expected NAME or NAME=VARIABLE");
  const auto with_way = [&, &name = name](const char* why) {
    return fmt::format(
        "{}: {}. It takes the name of a variable, never a secret: `export VARIABLE=...`, then `--credential "
        "{}=VARIABLE`",
        shown, why, is_plain_name(name) && name != variable && !are_exchanged ? name : "NAME");
  };
  const auto is_secret = [](const std::string& word) { return !secrets::find(word).empty(); };
  if (!plan::is_variable_name(variable) || is_secret(variable))
    return fail(ErrorKind::kInvalid, with_way("this is no name of a variable"));
  if (are_exchanged || !plan::is_variable_name(name) || is_secret(name))
    return fail(ErrorKind::kInvalid, with_way("NAME is no name of a variable"));
  if (value.value_or("").empty()) return executor::no_key(with_way("no variable of this name is set here"));
  return {};
}

Status check_credentials(const PlanRequest& request) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < request.credentials.size(); ++i) PAWL_OK(check_credential(request, i));
  for (const auto& option : request.credentials)
    if (const auto name = credential_in(option).name; !names.insert(name).second)
      return fail(ErrorKind::kInvalid, fmt::format("--credential {} is there twice: leave one out", name));
  return {};
}

}  // namespace

void add_plan_request(const Command& command, PlanRequest& request) {
  command.option("--agent", request.agent,
                 "Instead of PLAN: a program that `pawl agents` lists; a plan is made");
  command.option("--goal", request.goal, "With --agent: what it shall do");
  command.option("--gate", request.gate, "With --agent: the command that judges its work, like \"npm test\"");
  command.option("--model", request.model, "With --agent: its model");
  command.option("--base-url", request.base_url, "With --agent: where it finds its model");
  command.option(
      "--credential", request.credentials,
      "With --agent: NAME or NAME=VARIABLE, a variable that the agent gets as a secret beside its key");
  command.option("--attempts", request.attempts, "With --agent: attempts of the phase, else 5", {1, 100});
  command.option("--best-of", request.best_of, "With --agent: independent tries in an attempt",
                 {1, plan::kBestOfMax});
  command.option("-C", request.folder, "With --agent: the source, else the current folder");
}

Status check_plan_request(const PlanRequest& request, const std::string& plan) {
  const auto bad = [](const std::string& why) { return fail(ErrorKind::kInvalid, why); };
  if (request.agent.empty()) {
    const bool has_more = !request.goal.empty() || !request.gate.empty() || !request.model.empty() ||
                          !request.base_url.empty() || !request.folder.empty() ||
                          !request.credentials.empty() || request.attempts != 0 || request.best_of != 0;
    if (has_more)
      return bad(
          "--goal, --gate, --model, --base-url, --credential, --attempts, --best-of and -C need --agent");
    if (plan.empty()) return bad("name a plan's file, or an agent with --agent, --goal and --gate");
    return {};
  }
  if (!plan.empty()) return bad("give a plan's file or --agent, not both");
  if (request.goal.empty() || request.gate.empty()) return bad("--agent needs --goal TEXT and --gate CMD");
  PAWL_OK(check_texts(request));
  return check_credentials(request);
}

Status check_made_attempts(const PlanRequest& request, const MaxAttempts& attempts) {
  const auto limit = request.attempts == 0 ? plan::Phase().max_attempts : request.attempts;
  if (request.agent.empty() || attempts.operator_ack || attempts.number <= limit) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("--max-attempts {0} is above the {1} of --attempts: use `--attempts {0}`",
                          attempts.number, limit));
}

Result<PlanNeeds> plan_needs(const PlanRequest& request) {
  const std::string folder = request.folder.empty() ? "." : request.folder;
  const auto source = os::absolute_path(folder);
  if (!source || !os::is_folder(*source))
    return fail(ErrorKind::kInvalid, "-C: " + folder + " is not a folder");
  PAWL_OK(check_utf8("-C", *source));
  PAWL_TRY(auto mounts, mounts_of(request, *source));
  return PlanNeeds{.source = *source, .mounts = std::move(mounts)};
}

Result<std::string> make_plan(const PlanRequest& request, const PlanNeeds& needs, const StateOptions& state) {
  const auto& [source, mounts] = needs;
  PAWL_TRY(const auto opened, open_state(state, folder_of_new_run(state, source), true));
  os::SystemRandom random;
  const std::string made =
      os::join(os::join(opened.folder, kPlansFolder), os::uuid7(os::SystemClock().wall(), random));
  PAWL_OK(os::make_private_folder(made));
  const std::string file = os::join(made, "plan.yaml");
  PAWL_OK(os::write_durably("plan.made", file, text_of(request, source, mounts)));
  // One may be the project's own node_modules, whose program gets the key.
  if (!mounts.empty()) tell("pawl: steps see {}\n", fmt::format("{}", fmt::join(mounts, ", ")));
  return file;
}

}  // namespace pawl::cli
