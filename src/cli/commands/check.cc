#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "cli/context.h"
#include "cli/plan_file.h"
#include "cli/render/say.h"
#include "executor/credentials.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "workspace/workspace.h"

namespace pawl::cli {
namespace {

Json to_json(const std::vector<plan::Problem>& problems) {
  Json out = Json::array();
  for (const auto& problem : problems)
    out.push_back({{"file", problem.file},
                   {"line", problem.line},
                   {"column", problem.column},
                   {"message", problem.message}});
  return out;
}

std::string named(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? out + fmt::format(" and {} more", names.size() - kShown) : out;
}

// Later work may change what a gate of an earlier phase says, and no gate is run again on it: a gate that wants
// a failing test could not hold. The gates of the phase that is accepted last see all work; phases of a parallel
// tier share theirs.
std::vector<std::string> gates_left_behind(const plan::Plan& plan) {
  const auto& last = plan.tiers.back();
  std::set<std::string> held(last.phases.back().gates.begin(), last.phases.back().gates.end());
  if (last.parallel)
    for (const auto& phase : last.phases) held.insert(phase.gates.begin(), phase.gates.end());
  std::vector<std::string> out;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      for (const auto& gate : phase.gates)
        if (held.insert(gate).second)
          out.push_back(
              fmt::format("gate {} of phase {} is not run on the work of later phases; add it to phase {}'s "
                          "gates to hold it there",
                          gate, phase.id, last.phases.back().id));
  return out;
}

// Names the part of the source's history that each step sees.
std::vector<std::string> shown_history(const plan::Plan& plan, const std::string& plan_file) {
  if (plan.git != plan::Git::kHistory) return {};
  const auto source = executor::source_folder(plan, os::folder_of(plan_file));
  if (!source) return {};
  const auto history = workspace::Workspaces::history_of(*source, plan.source_ref);
  if (!history) return {};
  std::vector<std::string> out{fmt::format(
      "git: history: each step can read all objects in {}: other branches, what was removed, what no "
      "branch has, and what source.exclude names; else `git: snapshot`",
      named(history->objects))};
  if (!history->prefix.empty())
    out.push_back(
        fmt::format("git: history: the source is the folder {} of its repository, so its history has "
                    "/workspace/FILE as {}FILE",
                    history->prefix, history->prefix));
  return out;
}

// Explains defaults that differ from those of older versions, where the plan leaves the keys out. Names what of
// the host agents get as secrets: who runs the plan of somebody else should know.
std::vector<std::string> notes_of(const plan::Plan& plan, const std::string& plan_file) {
  std::vector<std::string> changed, exited, retried, flaky, together, out;
  for (const auto& tier : plan.tiers) {
    if (tier.parallel && tier.phases.size() > 1) together.push_back(tier.name);
    for (const auto& phase : tier.phases) {
      if (phase.needs_change()) changed.push_back(phase.id);
      if (phase.agent_exit == plan::AgentExit::kZero) exited.push_back(phase.id);
    }
  }
  for (const auto& [name, gate] : plan.gates) {
    if (gate.retry.timeout_retryable) retried.push_back(name);
    if (gate.retry.flaky_reruns > 0 && gate.retry.flaky == plan::Flaky::kPass) flaky.push_back(name);
  }
  const auto note = [&out](const std::vector<std::string>& names, const char* text, const char* key) {
    if (!names.empty())
      out.push_back(fmt::format("{}: {}{}{}", text, named(names), *key == 0 ? "" : "; else ", key));
  };
  note(changed, "an attempt that changes no file fails", "`may_be_empty: true`");
  note(exited, "an agent that exits with another code than 0 needs a person", "`agent_exit: any`");
  note(retried, "a step that times out is retried, by gate", "`retry: {timeout_retryable: false}`");
  note(flaky, "a gate that failed passes when it passes on the same content, by gate",
       "without `flaky: pass`");
  note(together, "phases are judged together, by tier", "");
  std::ranges::move(gates_left_behind(plan), std::back_inserter(out));
  std::ranges::move(shown_history(plan, plan_file), std::back_inserter(out));
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      for (const auto& credential : phase.credentials)
        out.push_back(fmt::format("the agent of phase {} gets {} from {}", phase.id, credential.name,
                                  executor::source_of(credential)));
  return out;
}

int check(const std::string& path, bool json) {
  auto plan = read_plan(path, json);
  if (!plan) {
    report(plan.error());
    return kUsage;
  }
  if (plan->parsed.plan) check_source(path, *plan);
  auto& parsed = plan->parsed;
  std::ranges::move(plan->unstartable, std::back_inserter(parsed.warnings));
  if (parsed.plan) {
    std::ranges::move(unguarded_gates(path, *parsed.plan), std::back_inserter(parsed.warnings));
    std::ranges::move(defining_files(path, plan->file, *parsed.plan), std::back_inserter(parsed.warnings));
    std::ranges::move(partial_gates(path, *parsed.plan), std::back_inserter(parsed.warnings));
    std::ranges::move(early_stops(path, plan->file, *parsed.plan), std::back_inserter(parsed.warnings));
    std::ranges::move(unseen_credentials(path, *parsed.plan), std::back_inserter(parsed.warnings));
    const auto added = executor::add_keys(*parsed.plan);  // notes_of() names them
    std::ranges::move(without_keys(path, added.lacking), std::back_inserter(parsed.warnings));
  }
  if (json) {
    print_json({{"ok", parsed.plan.has_value()},
                {"problems", to_json(parsed.problems)},
                {"warnings", to_json(parsed.warnings)},
                {"notes", parsed.plan ? Json(notes_of(*parsed.plan, plan->file)) : Json::array()}});
  } else {
    print_problems(parsed.problems, "error: ");
    print_problems(parsed.warnings, "warning: ");
  }
  if (!parsed.plan) return kUsage;
  std::size_t phases = 0;
  for (const auto& tier : parsed.plan->tiers) phases += tier.phases.size();
  if (!json)
    say("{}: ok: workflow {}, {} tier(s), {} phase(s), {} gate(s)\n", path, parsed.plan->workflow,
        parsed.plan->tiers.size(), phases, parsed.plan->gates.size());
  if (!json)
    for (const auto& note : notes_of(*parsed.plan, plan->file)) say("note: {}\n", note);
  return kDone;
}

}  // namespace

void add_check(const Command& program) {
  const Command command = program.add("check", "Check a plan without running it");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.required("PLAN", *path, "The plan's file");
  add_json_option(command, *json);
  command.footer(
      "Prints each problem as file:line:column. Exit code 2: the plan has a problem.\n\nExample:\n  "
      "pawl check plan.yaml");
  command.on_run([=] { return check(*path, *json); });
}

}  // namespace pawl::cli
