#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/context.h"
#include "cli/plan_file.h"
#include "cli/say.h"

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

int check(const std::string& path, bool json) {
  auto plan = read_plan(path, json);
  if (!plan) {
    report(plan.error());
    return kUsage;
  }
  if (plan->parsed.plan) check_source(path, *plan);
  auto& parsed = plan->parsed;
  if (parsed.plan)
    std::ranges::move(unguarded_gates(path, *parsed.plan), std::back_inserter(parsed.warnings));
  if (json) {
    print_json({{"ok", parsed.plan.has_value()},
                {"problems", to_json(parsed.problems)},
                {"warnings", to_json(parsed.warnings)}});
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
      "Every problem is named as file:line:column. Exit code 2 when there is one.\n\nExample:\n  pawl check "
      "plan.yaml");
  command.on_run([=] { return check(*path, *json); });
}

}  // namespace pawl::cli
