#include "cli/made_plan.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/render/say.h"
#include "executor/agent_programs.h"
#include "executor/credentials.h"
#include "executor/programs.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "plan/mounts_text.h"
#include "plan/parse.h"
#include "plan/profile.h"

namespace pawl::cli {
namespace {

constexpr const char* kPlansFolder = "plans";  // in the state folder
constexpr const char* kMadePlan = "the plan";

// A string of JSON is one of YAML.
std::string in_quotes(const std::string& text) { return canonical(Json(text)); }

std::string credentials_of(const PlanRequest& request) {
  if (request.credentials.empty()) return {};
  Json sources = Json::object();
  for (const auto& name : request.credentials) sources[name] = {{"env", name}};
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

Result<plan::Plan> parsed(const std::string& text) {
  auto out = plan::parse(text, kMadePlan, {.own_profile = executor::own_profile});
  if (out.plan) return *std::move(out.plan);
  const auto& problem = out.problems.front();
  return fail(ErrorKind::kInvalid, problem.file == kMadePlan ? problem.message : to_text(problem));
}

// The first key of the program that is set becomes its credential. Where none is, each attempt would fail at its
// first call, so a person is told before one is spent. With --base-url the server may ask for no key. A login of the
// program is not in a sandbox; but a profile of the user may have a way to one.
Status take_key(const plan::Profile& profile, PlanRequest& request) {
  if (profile.key.empty()) return {};
  if (const auto name = executor::key_here(profile); !name.empty()) {
    if (name != profile.key) tell("pawl: the agent gets {} in place of {}\n", name, profile.key);
    request.credentials = {name};
    return {};
  }
  const auto value = os::environment_value(profile.key);
  const auto is_bad = value && !value->empty()
                          ? fmt::format("has less than {} bytes", executor::kCredentialBytesMin)
                          : std::string("is not set");
  const auto what_to_do =
      fmt::format("`export {}=...` sets it, and `--credential NAME` names another variable", profile.key);
  const auto logins = executor::logins_of(profile);
  if (request.base_url.empty() && logins.empty()) {
    auto error = Error{.kind = ErrorKind::kDenied, .message = {}, .sys_errno = ENOKEY};
    error.message =
        fmt::format("{} has no key: {} {}; {}", profile.program(), profile.key, is_bad, what_to_do);
    return std::unexpected(std::move(error).in("--agent " + request.agent));
  }
  if (request.base_url.empty())
    tell("pawl: {} {}, and no step sees the login in {}; {}\n", profile.key, is_bad, logins.front(),
         what_to_do);
  else
    tell("pawl: {} {}: the agent works without a key; {}\n", profile.key, is_bad, what_to_do);
  return {};
}

// Adds the option and what to do to the message.
Error in_words(Error error, const std::string& agent) {
  if (error.kind == ErrorKind::kNotFound) error.message += "; `pawl agents` lists what is here";
  return std::move(error).in("--agent " + agent);
}

}  // namespace

void add_plan_request(const Command& command, PlanRequest& request) {
  command.option("--agent", request.agent,
                 "Instead of PLAN: a program that `pawl agents` lists; a plan is made");
  command.option("--goal", request.goal, "With --agent: what it shall do");
  command.option("--gate", request.gate, "With --agent: the command that judges its work, like \"npm test\"");
  command.option("--model", request.model, "With --agent: its model");
  command.option("--base-url", request.base_url, "With --agent: where it finds its model");
  command.option("--credential", request.credentials,
                 "With --agent: a variable that the agent gets as a secret, else that of its profile's key");
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
  return {};
}

Result<std::string> make_plan(PlanRequest request, const StateOptions& state) {
  const std::string folder = request.folder.empty() ? "." : request.folder;
  const auto found = os::absolute_path(folder);
  if (!found || !os::is_folder(*found))
    return fail(ErrorKind::kInvalid, "-C: " + folder + " is not a folder");
  const std::string& source = *found;
  PAWL_TRY(const auto plan, parsed(text_of(request, source, {})));
  const auto mounts = executor::mounts_for(plan);
  if (!mounts) return std::unexpected(in_words(mounts.error(), request.agent));
  if (request.credentials.empty()) {
    const auto profile = plan::parse_profile(plan.profiles.at(request.agent), request.agent).profile;
    if (profile) PAWL_OK(take_key(*profile, request));
    PAWL_OK(parsed(text_of(request, source, {})));
  }
  PAWL_TRY(const auto opened, open_state(state, folder_of_new_run(state, source), true));
  os::SystemRandom random;
  const std::string made =
      os::join(os::join(opened.folder, kPlansFolder), os::uuid7(os::SystemClock().wall(), random));
  PAWL_OK(os::make_private_folder(made));
  const std::string file = os::join(made, "plan.yaml");
  PAWL_OK(os::write_durably("plan.made", file, text_of(request, source, *mounts)));
  return file;
}

}  // namespace pawl::cli
