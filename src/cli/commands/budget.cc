// Shows what a run may spend, and changes it for a person.
#include "views/budget.h"

#include <fmt/format.h>

#include "base/money.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "plan/plan.h"

namespace pawl::cli {
namespace {

struct BudgetOptions {
  StateOptions state;
  std::string run, reason;
  // The new caps. Without any of them the command only shows.
  std::int64_t sandbox_seconds = 0, tokens = 0;
  std::string usd;
};

Status budget(const BudgetOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  std::vector<std::pair<std::string_view, std::int64_t>> caps;
  if (options.sandbox_seconds > 0) caps.emplace_back(store::kSandboxMs, options.sandbox_seconds * 1000);
  if (options.tokens > 0) caps.emplace_back(store::kTokens, options.tokens);
  if (!options.usd.empty()) caps.emplace_back(store::kUsdNanos, *parse_usd(options.usd));
  PAWL_TRY(const auto who, this_operator(state, options.reason));
  for (const auto& [unit, cap] : caps)
    PAWL_OK(state.store->operator_budget(run_id, unit, cap, who, os::SystemClock().wall()));
  if (!caps.empty()) PAWL_OK(ledger::project_run(*state.store, state.folder, run_id));
  PAWL_TRY(const auto rows, views::budgets_of(*state.store, run_id));
  if (options.state.json) {
    print_json({{"run_id", run_id}, {"budget", views::to_json(rows)}});
    return {};
  }
  for (const auto& row : rows) say("{}\n", budget_text(row));
  if (!caps.empty()) say("Next: pawl resume {}\n", run_id);
  return {};
}

}  // namespace

void add_budget(const Command& program) {
  const Command command = program.add("budget", "Show or change the budget of a run");
  auto options = std::make_shared<BudgetOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.option("--sandbox-seconds", options->sandbox_seconds,
                 "The new cap: seconds of all its steps together",
                 {.least = 1, .most = plan::kBudgetSecondsMax});
  command.option("--tokens", options->tokens, "The new cap: tokens of models, of all its agents together",
                 {.least = 1, .most = plan::kTokensMax});
  command.option("--usd", options->usd, "The new cap: money, as its agents report it, like 7.50");
  command.option("--reason", options->reason, "The reason, for the ledger");
  add_state_options(command, options->state);
  command.footer(
      "A run with a spent budget stops between two steps and keeps its state. Raise the cap, then "
      "run `pawl resume`.\n\nExample:\n  pawl budget last --sandbox-seconds 7200 --reason \"worth "
      "another hour\"");
  command.on_run([=] {
    if (!options->usd.empty() && parse_usd(options->usd).value_or(0) == 0) {
      tell("pawl: --usd: expected an amount like 7.50, found '{}'\n", printable(options->usd));
      return kUsage;
    }
    const auto status = budget(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
