#include "cli/made_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "executor/agent_programs.h"
#include "executor/programs.h"
#include "os/file.h"
#include "os/random.h"
#include "plan/parse.h"
#include "plan/script.h"

namespace pawl::cli {
namespace {

constexpr const char* kPlansFolder = "plans";  // in the state folder
constexpr const char* kMadePlan = "the plan";

// A string of JSON is one of YAML.
std::string in_quotes(const std::string& text) { return canonical(Json(text)); }

std::string text_of(const PlanWish& wish, const std::string& source, const std::vector<std::string>& mounts) {
  const auto member = [](const char* key, const std::string& value) {
    return value.empty() ? std::string() : fmt::format(", {}: {}", key, in_quotes(value));
  };
  std::string shown;
  for (const auto& src : mounts)
    shown += fmt::format("{}{{src: {}}}", shown.empty() ? "" : ", ", in_quotes(src));
  return fmt::format(
      "version: 1\nworkflow: {}\nsource: {{path: {}}}\n{}{}gates:\n  check: {{steps: [{{name: check, run: "
      "{}}}]}}\n"
      "tiers:\n  - phases:\n      - id: work\n        goal: {}\n        agent: {{use: {}{}{}, "
      "time_budget_seconds: 3600}}\n        gates: [check]\n{}",
      in_quotes(wish.agent), in_quotes(source), shown.empty() ? "" : "mounts: [" + shown + "]\n",
      wish.attempts == 0 ? "" : fmt::format("max_attempts: {}\n", wish.attempts), in_quotes(wish.gate),
      in_quotes(wish.goal), in_quotes(wish.agent), member("model", wish.model),
      member("base_url", wish.base_url),
      wish.best_of == 0 ? "" : fmt::format("        best_of: {}\n", wish.best_of));
}

Result<plan::Plan> parsed(const std::string& text) {
  auto out = plan::parse(text, kMadePlan, {.own_profile = executor::own_profile});
  if (out.plan) return *std::move(out.plan);
  const auto& problem = out.problems.front();
  return fail(ErrorKind::kInvalid, problem.file == kMadePlan ? problem.message : to_text(problem));
}

// The mounts that show the plan's programs. A gate may make the programs that it starts; an agent's
// must be there.
Result<std::vector<std::string>> mounts_for(const plan::Plan& plan) {
  std::vector<std::string> out;
  const auto of_agent = plan::programs_of(plan.tiers.front().phases.front().agent.argv);
  for (const auto& unseen : executor::unseen_programs(plan)) {
    const bool can_be_shown = unseen.place.is_in_path && !unseen.place.mounts.empty();
    if (!can_be_shown && std::ranges::find(of_agent, unseen.name) != of_agent.end())
      return fail(
          ErrorKind::kNotFound,
          fmt::format("--agent {}: {} {}; `pawl agents` lists what is here", plan.workflow, unseen.name,
                      unseen.place.host_path.empty() ? "is not on this machine"
                                                     : "lies where no step may see it: install it below "
                                                       "/usr/local"));
    std::ranges::copy_if(unseen.place.mounts, std::back_inserter(out),
                         [&](const auto& mount) { return std::ranges::find(out, mount) == out.end(); });
  }
  return out;
}

}  // namespace

void add_plan_wish(const Command& command, PlanWish& wish) {
  command.option("--agent", wish.agent,
                 "Instead of PLAN: a program that `pawl agents` lists; a plan is made");
  command.option("--goal", wish.goal, "With --agent: what it shall do");
  command.option("--gate", wish.gate, "With --agent: the command that judges its work, like \"npm test\"");
  command.option("--model", wish.model, "With --agent: its model");
  command.option("--base-url", wish.base_url, "With --agent: where it finds its model");
  command.option("--attempts", wish.attempts, "With --agent: attempts of the phase, else 5", {1, 100});
  command.option("--best-of", wish.best_of, "With --agent: independent tries in an attempt",
                 {1, plan::kBestOfMax});
  command.option("-C", wish.folder, "With --agent: the source, else the current folder");
}

Status check_wish(const PlanWish& wish, const std::string& plan) {
  const auto bad = [](const std::string& why) { return fail(ErrorKind::kInvalid, why); };
  if (wish.agent.empty()) {
    const bool has_more = !wish.goal.empty() || !wish.gate.empty() || !wish.model.empty() ||
                          !wish.base_url.empty() || !wish.folder.empty() || wish.attempts != 0 ||
                          wish.best_of != 0;
    if (has_more)
      return bad("--goal, --gate, --model, --base-url, --attempts, --best-of and -C need --agent");
    if (plan.empty()) return bad("name a plan's file, or an agent with --agent, --goal and --gate");
    return {};
  }
  if (!plan.empty()) return bad("give a plan's file or --agent, not both");
  if (wish.goal.empty() || wish.gate.empty()) return bad("--agent needs --goal TEXT and --gate CMD");
  return {};
}

Result<std::string> make_plan(const PlanWish& wish, const StateOptions& state) {
  PAWL_TRY(const std::string source, os::absolute_path(wish.folder.empty() ? "." : wish.folder));
  if (!os::is_folder(source)) return fail(ErrorKind::kInvalid, "-C " + source + " is not a folder");
  PAWL_TRY(const auto plan, parsed(text_of(wish, source, {})));
  PAWL_TRY(const auto mounts, mounts_for(plan));
  PAWL_TRY(const auto opened, open_state(state, folder_of_new_run(state, source), true));
  os::SystemRandom random;
  const std::string made =
      os::join(os::join(opened.folder, kPlansFolder), os::uuid7(os::SystemClock().wall(), random));
  PAWL_OK(os::make_private_folder(made));
  const std::string file = os::join(made, "plan.yaml");
  PAWL_OK(os::write_durably("plan.made", file, text_of(wish, source, mounts)));
  return file;
}

}  // namespace pawl::cli
