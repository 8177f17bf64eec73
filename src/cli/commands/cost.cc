// Shows the cost of a run, or of all runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/money.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/words.h"
#include "views/costs.h"

namespace pawl::cli {
namespace {

using views::Costs, views::kDimensions, views::Sum;

constexpr std::size_t kRunsPricedMax = 1'000'000;
constexpr std::size_t kBarWidth = 40;

// Quotes a field as RFC 4180 says. An agent chooses the name of its model, and a spreadsheet runs a cell that begins
// like a formula. Such a field gets a quote in front, so that spreadsheets take it for text.
std::string csv_field(const std::string& field) {
  constexpr std::string_view kFormulas = "=+-@\t";
  const bool is_formula = !field.empty() && kFormulas.find(field.front()) != std::string_view::npos;
  std::string text = (is_formula ? "'" : "") + field;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

void print_csv(const Costs& costs) {
  say("dimension,key,steps,lost_steps,sandbox_milliseconds,microvm_milliseconds,input_tokens,output_tokens,"
      "cached_tokens,usd,unknown_executions\r\n");
  const auto line = [](const std::string& dimension, const std::string& key, const Sum& sum) {
    say("{},{},{},{},{},{},{},{},{},{},{}\r\n", dimension, csv_field(key), sum.steps, sum.lost,
        sum.sandbox_ms, sum.microvm_ms, sum.input_tokens, sum.output_tokens, sum.cached_tokens,
        usd_text(sum.usd_nanos), sum.unknown);
  };
  line("total", "", costs.total);
  for (std::size_t i = 0; i < kDimensions.size(); ++i)
    for (const auto& [key, sum] : costs.by[i]) line(kDimensions[i], key, sum);
}

// Draws in eighths of a character, so that small values are visible.
std::string bar(std::int64_t value, std::int64_t most) {
  if (most <= 0 || value <= 0) return {};
  constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<std::size_t>(
      1,
      static_cast<std::size_t>(static_cast<double>(value) / static_cast<double>(most) * kBarWidth * 8 + 0.5));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

// For example "1200 in, 300 out, $0.05", or "at least 1200 in, ..."; "" when no model was used.
std::string usage_text(const Sum& sum) {
  if (sum.input_tokens == 0 && sum.output_tokens == 0 && sum.cached_tokens == 0 && sum.usd_nanos == 0)
    return sum.unknown > 0 ? "an unknown use" : "";
  std::string text =
      fmt::format("{}{} in, {} out", sum.unknown > 0 ? "at least " : "", sum.input_tokens, sum.output_tokens);
  if (sum.cached_tokens > 0) text += fmt::format(", {} cached", sum.cached_tokens);
  return text + fmt::format(", ${}{}", usd_text(sum.usd_nanos), sum.unpriced > 0 ? " and unpriced" : "");
}

void print(const Costs& costs, bool plot) {
  say("{} in sandboxes, {} step(s), {} of them lost\n", duration_text(costs.total.sandbox_ms),
      costs.total.steps, costs.total.lost);
  if (const auto usage = usage_text(costs.total); !usage.empty()) say("{} of models\n", usage);
  if (costs.total.unknown > 0)
    say("{} execution(s) of agents used more than is known: they told a part of it, or nothing\n",
        costs.total.unknown);
  if (costs.total.unpriced > 0)
    say("{} call(s) told no money: name their models' prices with --prices FILE\n", costs.total.unpriced);
  const auto per = [&](const char* what, std::int64_t count) {
    if (count > 0) say("{} a {} ({})\n", duration_text(costs.total.sandbox_ms / count), what, count);
  };
  per("completed phase", costs.completed_phases);
  per("passed attempt", costs.passed_attempts);
  for (std::size_t i = 0; i < kDimensions.size(); ++i) {
    say("\nby {}\n", kDimensions[i]);
    std::size_t width = 5;
    std::int64_t most = 0;
    std::vector<std::pair<std::string, Sum>> rows(costs.by[i].begin(), costs.by[i].end());
    for (const auto& [key, sum] : rows) {
      width = std::max(width, key.size());
      most = std::max(most, sum.sandbox_ms);
    }
    // Days in their order, the other keys by their cost.
    if (std::string_view(kDimensions[i]) != "day")
      std::ranges::stable_sort(rows, std::ranges::greater(),
                               [](const auto& row) { return row.second.sandbox_ms; });
    for (const auto& [key, sum] : rows)
      say("  {:<{}}  {:>8}  {:>6} step(s){}{}{}\n", key, width, duration_text(sum.sandbox_ms), sum.steps,
          sum.lost > 0 ? fmt::format(", {} lost", sum.lost) : "",
          usage_text(sum).empty() ? "" : "  " + usage_text(sum),
          plot ? "  " + bar(sum.sandbox_ms, most) : "");
  }
}

struct CostOptions {
  StateOptions state;
  std::string run, prices;
  bool csv = false, plot = false;
};

Status cost(const CostOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  views::Prices prices;
  if (!options.prices.empty()) {
    PAWL_TRY(prices, views::read_prices(options.prices));
  }
  Costs out;
  if (options.run.empty()) {
    PAWL_TRY(const auto runs, state.store->runs(kRunsPricedMax));
    for (const auto& run : runs) PAWL_OK(views::add_run_costs(*state.store, run.run_id, prices, out));
  } else {
    PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
    PAWL_OK(views::add_run_costs(*state.store, run_id, prices, out));
  }
  if (options.state.json)
    print_json(to_json(out));
  else if (options.csv)
    print_csv(out);
  else
    print(out, options.plot);
  return {};
}

}  // namespace

void add_cost(const Command& program) {
  const Command command = program.add(
      "cost", "Print the cost of a run, or of all, by workflow, isolation, gate, phase, model and day");
  auto options = std::make_shared<CostOptions>();
  command.option("RUN", options->run, std::string(kRunHelp) + " (else all)");
  command.option("--prices", options->prices,
                 "A JSON file with prices of models, for usage that an agent reported without money");
  command.flag("--csv", options->csv, "Print lines for a spreadsheet");
  command.flag("--plot", options->plot, "Draw a bar beside each line");
  command.not_together("--csv", "--plot");
  add_state_options(command, options->state);
  command.footer(
      "Counts every step that ran, also in failed, crashed and skipped attempts. A lost step counts "
      "until it was given\nup. Tokens and money come from reports of the agents (docs/agents.md). "
      "Reads only.\n\nExample:\n  pawl cost last --plot");
  command.on_run([=] {
    const auto status = cost(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
